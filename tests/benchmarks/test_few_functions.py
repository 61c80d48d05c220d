"""The comparison of fits with and without processes of few functions, on few rows."""

import few_functions

from localegop._engine import settings


def test_fits_without_functions_have_none_and_fits_with_them_may(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(settings, "MOST_ROWS", 100)
    page = tmp_path / "page.md"
    page.write_text("<!-- few-functions: begin -->\n<!-- few-functions: end -->\n", encoding="utf-8")
    before = settings.MOST_FUNCTION_ROWS
    arguments = ["--rows", "150", "--samples", "1", "--noises", "0", "--functions", "otl_circuit"]
    few_functions.main([*arguments, "--page", str(page)])
    assert before == settings.MOST_FUNCTION_ROWS
    line = next(each for each in page.read_text(encoding="utf-8").splitlines() if "otl circuit" in each)
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert float(cells[2]) > 0.0 and float(cells[3]) > 0.0 and cells[-1] in ("functions", "kriging")
    assert line in capsys.readouterr().out
