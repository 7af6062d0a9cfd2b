// What node-postgres does at the gateway: one subject a run, told as JSON.
"use strict";

const { Client, Pool } = require("pg");
const Cursor = require("pg-cursor");
const QueryStream = require("pg-query-stream");

const FOR_EVER = "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b";
const YEARS = "SELECT birth_year, count(*) AS n FROM patients WHERE birth_year >= $1 GROUP BY 1 ORDER BY 1";

async function refused(asked) {
  try {
    await asked;
    return null;
  } catch (error) {
    const { name, severity, code, message, detail, hint, position } = error;
    return { name, severity, code, message, detail, hint, position };
  }
}

async function statements(client) {
  const simple = await client.query(
    "SELECT region, count(*) AS n, avg(income) AS mean FROM patients GROUP BY region ORDER BY region");
  const arrays = await client.query({ text: "SELECT region, count(*) FROM patients GROUP BY 1 ORDER BY 1", rowMode: "array" });
  const given = await client.query(
    "SELECT count(*)::int AS n, true AS t, DATE '2024-02-29' AS d, NULL AS nothing FROM patients"
      + " WHERE region = ANY($1) AND birth_year > $2 AND birth_year NOT IN ($3,$4)",
    [["north", "west"], 1950, 1960, 1970]);
  const named = [];
  for (const day of ["2021-01-01", "2022-01-01", "2023-01-01"]) {
    const answer = await client.query({
      name: "visits before",
      text: "SELECT count(*) AS n FROM visits WHERE visit_date < $1 AND diagnosis IN ($2,$3)",
      values: [day, "asthma", "allergy"],
    });
    named.push(answer.rows[0].n);
  }
  const several = await client.query("SELECT 1 AS a; SELECT count(*) AS n FROM patients");
  return {
    rows: simple.rows,
    fields: simple.fields.map((field) => [field.name, field.dataTypeID]),
    command: [simple.command, simple.rowCount],
    arrays: arrays.rows,
    given: given.rows,
    named,
    several: several.map((answer) => answer.rows),
  };
}

async function cursors(client) {
  const counted = [];
  const rows = [];
  const cursor = client.query(new Cursor(YEARS, [1950]));
  for (;;) {
    const some = await cursor.read(10);
    if (some.length === 0) break;
    counted.push(some.length);
    rows.push(...some);
  }
  await cursor.close();
  const left = client.query(new Cursor(YEARS, [1920]));
  const first = await left.read(2);
  await left.close();
  const streamed = [];
  for await (const row of client.query(new QueryStream(YEARS, [2000], { batchSize: 3 }))) streamed.push(row);
  const refusal = await refused(client.query(new Cursor("SELECT income FROM patients")).read(1));
  const after = await client.query("SELECT count(*) AS n FROM patients");
  return { counted, rows, first, streamed, refusal, after: after.rows };
}

async function stopping(client) {
  const slow = refused(client.query(FOR_EVER));
  const other = new Client();
  setTimeout(() => other.cancel(client, client._activeQuery || client.activeQuery), 300);
  const cancelled = await slow;
  const hurried = new Client({ statement_timeout: 300, application_name: "node" });
  await hurried.connect();
  const late = await refused(hurried.query(FOR_EVER));
  const name = (await hurried.query("SHOW application_name")).rows;
  await hurried.end();
  return { cancelled, late, name, after: (await client.query("SELECT count(*) AS n FROM patients")).rows };
}

async function refusals(client) {
  const told = {};
  told.rows = await refused(client.query("SELECT * FROM patients"));
  told.prepared = await refused(client.query("SELECT income FROM patients WHERE birth_year = $1", [1950]));
  told.value = await refused(client.query("SELECT count(*) FROM patients WHERE birth_year = $1", ["x"]));
  told.again = (await client.query("SELECT count(*) AS n FROM patients WHERE birth_year > $1", [0])).rows;
  told.function = await refused(client.query("SELECT counter(*) FROM patients"));
  await client.query("BEGIN");
  told.inside = await refused(client.query("SELECT income FROM patients"));
  told.failed = await refused(client.query("SELECT 1"));
  await client.query("ROLLBACK");
  told.after = (await client.query("SELECT count(*) AS n FROM patients")).rows;
  return told;
}

async function together() {
  const pool = new Pool({ max: 4 });
  const numbers = [...Array(20).keys()];
  const answers = await Promise.all(numbers.map((one) => pool.query("SELECT count(*) + $1 AS n FROM patients", [one])));
  await pool.end();
  return answers.map((answer) => Number(answer.rows[0].n));
}

async function main() {
  const subjects = { statements, cursors, stopping, refusals, together };
  const client = new Client();
  await client.connect();
  const told = await subjects[process.argv[2]](client);
  await client.end();
  console.log(JSON.stringify(told));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
