"""Older versions of localegop beside the present one: `builds` makes them, `worker` fits one of them."""
