// Three hosts of the same page: a server, a file, a notebook. Each brings the scene and answers questions.

import { App } from "./app.js";

export async function startServer() {
  const root = document.getElementById("explorer");
  const scene = await (await fetch("scene.json")).json();
  window.explorer = new App(root, scene, { ask: askServer });
}

async function askServer(queries, profiles) {
  const response = await fetch("fits", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ queries, profiles }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

export async function startFile() {
  const packed = Uint8Array.from(atob(document.getElementById("scene").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const scene = await new Response(stream).json();
  window.explorer = new App(document.getElementById("explorer"), scene, null);
}

export function renderWidget({ model, el }) {
  const waiting = new Map();
  let number = 0;
  const hear = (message) => {
    const [done, fail] = waiting.get(message.number) ?? [];
    waiting.delete(message.number);
    if (!done) return;
    if (message.error) fail(new Error(message.error));
    else done(message.answer);
  };
  model.on("msg:custom", hear);
  const ask = (queries, profiles) =>
    new Promise((done, fail) => {
      number += 1;
      waiting.set(number, [done, fail]);
      model.send({ number, queries, profiles });
    });
  const root = document.createElement("div");
  el.append(root);
  new App(root, JSON.parse(model.get("scene")), { ask });
  return () => model.off("msg:custom", hear);
}
