import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { ApiError, createApi } from "../../web/api.js";

const SECRET = "operator's secret";
const json = (status, body, headers = {}) =>
  new Response(JSON.stringify(body), { status, headers });

/** A server with a secret, as the page sees it through fetch. */
async function guarded(path, { headers }) {
  const bearer = new Headers(headers).get("Authorization");
  const wants = path.endsWith("client_secrets") ? `Bearer ${SECRET}` : "Bearer ek_pass";
  if (bearer !== wants) return json(401, { error: { message: "The secret is missing or wrong." } });
  return path.endsWith("client_secrets")
    ? json(200, { value: "ek_pass" })
    : json(200, { ice_servers: [] });
}

let stored;
let storage;
const { signal } = new AbortController();

beforeEach(() => {
  stored = new Map();
  storage = {
    getItem: (key) => stored.get(key) ?? null,
    setItem: (key, value) => stored.set(key, value),
    removeItem: (key) => stored.delete(key),
  };
});

test("the secret is asked for once, and only the pass it buys is kept", async () => {
  globalThis.fetch = guarded;
  const asked = [];
  const api = createApi(async (refused) => (asked.push(refused), SECRET), storage);
  assert.deepEqual(await api.ice(signal), { iceServers: [], iceTransportPolicy: "all" });
  assert.deepEqual(await api.ice(signal), { iceServers: [], iceTransportPolicy: "all" });
  assert.deepEqual(asked, [""]);
  assert.deepEqual([...stored.values()], ["ek_pass"]);
});

test("a wrong secret is asked for again, with the server's reason", async () => {
  globalThis.fetch = guarded;
  const asked = [];
  const api = createApi(
    async (refused) => (asked.push(refused), asked.length === 1 ? "guess" : SECRET),
    storage,
  );
  await api.ice(signal);
  assert.deepEqual(asked, ["", "The secret is missing or wrong."]);
});

test("a full server's error carries its words, its hint and when to try again", async () => {
  globalThis.fetch = async () =>
    json(
      429,
      { error: { message: "Full.", code: "too_busy", hint: "Wait." } },
      { "Retry-After": "7" },
    );
  await assert.rejects(
    createApi(async () => SECRET, storage).openCall("v=0", {}, signal),
    (error) => {
      assert.ok(error instanceof ApiError && error.full);
      assert.deepEqual([error.message, error.hint, error.retryAfter_s], ["Full.", "Wait.", 7]);
      return true;
    },
  );
});

test("a server that cannot be reached, or answers no JSON, is still told in words", async () => {
  const api = createApi(async () => SECRET, storage);
  globalThis.fetch = async () => Promise.reject(new TypeError("failed to fetch"));
  await assert.rejects(api.ice(signal), {
    message: "The server cannot be reached.",
    status: 0,
  });
  globalThis.fetch = async () => new Response("<html>", { status: 502 });
  await assert.rejects(api.ice(signal), {
    message: "The server answered 502.",
    status: 502,
  });
});
