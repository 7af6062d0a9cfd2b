"""`/docs`: the OpenAPI document as a page one can read and try, from this process alone.

INVARIANT: the page loads nothing but `/openapi.json`, and runs no script but its own: its policy names
the hashes of what stands in it. What the document or an answer says is put in as text, never as markup.
"""

import base64
import hashlib
from typing import Any, Final

from fastapi import FastAPI
from fastapi.responses import HTMLResponse

from gateway.frontends.rest.schemas import EXAMPLES

_STYLE: Final = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2rem; text-transform: capitalize; }
details { border: 1px solid #8886; border-radius: 6px; margin: .5rem 0; padding: .5rem .8rem; }
summary { cursor: pointer; }
summary b { display: inline-block; min-width: 3.5rem; }
code, pre, textarea, input { font: 13px/1.5 ui-monospace, monospace; }
pre { overflow: auto; background: #8882; padding: .6rem; border-radius: 4px; }
textarea, input { width: 100%; box-sizing: border-box; }
table { border-collapse: collapse; }
td { border-top: 1px solid #8884; padding: .2rem .8rem .2rem 0; vertical-align: top; }
"""

_SCRIPT: Final = """
"use strict";
const page = document.getElementById("page");
const key = document.getElementById("key");
function put(where, name, text) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  where.appendChild(made);
  return made;
}
function pretty(value) { return JSON.stringify(value, null, 2); }
function typed(schema, all) {
  if (!schema) return "";
  if (schema.$ref) return typed(all[schema.$ref.split("/").pop()], all);
  if (schema.anyOf) return schema.anyOf.map((one) => typed(one, all)).join(" | ");
  if (schema.type === "array") return "[" + typed(schema.items, all) + "]";
  if (schema.properties && schema.title) return schema.title;
  return schema.enum ? schema.enum.join(" | ") : [].concat(schema.type || "any").join(" | ");
}
function fields(where, title, rows) {
  if (!rows.length) return;
  put(where, "h4", title);
  const table = put(where, "table");
  for (const row of rows) {
    const line = put(table, "tr");
    row.forEach((cell, place) => put(put(line, "td"), place ? "span" : "code", cell));
  }
}
function addTrial(box, method, path, body, parameters) {
  const form = put(box, "form");
  const query = parameters.some((one) => one.in === "query") ? put(form, "input") : null;
  if (query) query.placeholder = "limit=10";
  const text = body ? put(form, "textarea", pretty(body.example)) : null;
  if (text) text.rows = 10;
  put(form, "button", "send");
  const shown = put(box, "pre");
  shown.hidden = true;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    shown.hidden = false;
    shown.textContent = "…";
    const headers = {};
    if (key.value) headers.Authorization = "Bearer " + key.value.trim();
    if (text) headers["Content-Type"] = "application/json";
    const asked = query && query.value ? path + "?" + query.value : path;
    try {
      const sent = { method: method.toUpperCase(), headers, body: text ? text.value : undefined };
      const answer = await fetch(asked, sent);
      const said = await answer.text();
      let told = said;
      try { told = pretty(JSON.parse(said)); } catch { told = said; }
      shown.textContent = answer.status + "\\n" + told;
    } catch (error) { shown.textContent = String(error); }
  });
}
function addOperation(where, method, path, one, all) {
  const box = put(where, "details");
  const summary = put(box, "summary");
  put(summary, "b", method.toUpperCase());
  put(summary, "code", path);
  put(box, "p", one.description || one.summary);
  const parameters = one.parameters || [];
  fields(box, "Parameters", parameters.map((each) =>
    [each.name, each.in, typed(each.schema, all), each.description || ""]));
  const body = one.requestBody && one.requestBody.content["application/json"];
  const asked = (body && body.schema.properties) || {};
  fields(box, "Body", Object.entries(asked).map(([name, schema]) =>
    [name, typed(schema, all), schema.description || ""]));
  const content = (one.responses["200"] || {}).content || {};
  for (const [media, answer] of Object.entries(content)) {
    put(box, "h4", "Answer: " + media);
    if (answer.example) put(box, "pre", pretty(answer.example));
  }
  put(box, "h4", "Try it");
  addTrial(box, method, path, body, parameters);
}
function show(told) {
  put(page, "h1", told.info.title + " " + told.info.version);
  put(page, "p", told.info.summary || "");
  const all = (told.components || {}).schemas || {};
  const parts = new Map();
  for (const [path, methods] of Object.entries(told.paths))
    for (const [method, one] of Object.entries(methods)) {
      const tag = (one.tags || ["other"])[0];
      if (!parts.has(tag)) {
        const part = put(page, "section");
        put(part, "h2", tag);
        parts.set(tag, part);
      }
      addOperation(parts.get(tag), method, path, one, all);
    }
}
fetch("openapi.json").then((answer) => answer.json()).then(show)
  .catch((error) => put(page, "p", String(error)));
"""


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


_PAGE: Final = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Gateway: the REST interface</title>
<style>{_STYLE}</style>
</head>
<body>
<p><label>API key, kept by this page alone until it is left
<input id="key" type="password" autocomplete="off"></label></p>
<main id="page"></main>
<p>The same for programs: <a href="openapi.json">openapi.json</a></p>
<script>{_SCRIPT}</script>
</body>
</html>
"""

_HEADERS: Final = {
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hash(_SCRIPT)}",
            f"style-src {_hash(_STYLE)}",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class DocumentedApp(FastAPI):
    """Adds the examples last: FastAPI leaves out their null values."""

    def openapi(self) -> dict[str, Any]:
        document = super().openapi()
        for path, (method, example) in EXAMPLES.items():
            content = document["paths"][path][method]["responses"]["200"]["content"]
            content["application/json"]["example"] = example
        return document


def add_documentation(app: FastAPI) -> None:
    @app.get("/docs", include_in_schema=False, response_class=HTMLResponse)
    def docs() -> HTMLResponse:
        return HTMLResponse(_PAGE, headers=_HEADERS)
