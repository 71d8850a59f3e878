// The server's HTTP surface. A 401 asks once for the operator's secret, which is exchanged for a
// short-lived bearer and forgotten.

const CALLS = "/v1/realtime/calls";
/** A lost call is resumed with the same pass, so it should outlast a long one. */
const PASS = JSON.stringify({ expires_after: { anchor: "created_at", seconds: 7200 } });
const BEARER = "umigame.bearer";

/** An answer that is not a success, or none at all (status 0). */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {{message?: string, code?: string | null, hint?: string}} body
   * @param {number | null} retryAfter_s
   */
  constructor(status, body, retryAfter_s = null) {
    super(body.message ?? `The server answered ${status}.`);
    this.status = status;
    this.code = body.code ?? "";
    this.hint = body.hint ?? "";
    this.retryAfter_s = retryAfter_s;
  }

  /** No place now; one may be free later. */
  get full() {
    return this.code === "too_busy";
  }
}

/**
 * @typedef {object} Api
 * @property {(signal: AbortSignal) => Promise<Pick<RTCConfiguration, "iceServers" | "iceTransportPolicy">>} ice
 * @property {(sdp: string, session: object, signal: AbortSignal) => Promise<{answer: string, location: string}>} openCall
 * @property {(location: string, fragment: string) => Promise<void>} trickle
 * @property {(location: string) => void} hangUp Also works while the page unloads.
 */

/**
 * @param {(refused: string) => Promise<string>} askSecret Gets why the last one was refused, or "";
 *   rejects when the user declines.
 * @param {Storage} storage Holds the bearer, never the secret.
 * @returns {Api}
 */
export function createApi(askSecret, storage) {
  /** @param {string} path @param {RequestInit} init */
  const send = (path, init) => {
    const bearer = storage.getItem(BEARER);
    const headers = new Headers(init.headers);
    if (bearer) headers.set("Authorization", `Bearer ${bearer}`);
    return fetch(path, { ...init, headers });
  };

  /** @param {string} path @param {RequestInit} init */
  const request = async (path, init) => {
    let response = await reach(() => send(path, init));
    if (response.status === 401) {
      await authorise(askSecret, storage);
      response = await reach(() => send(path, init));
    }
    if (!response.ok) throw await failure(response);
    return response;
  };

  return {
    async ice(signal) {
      const response = await request("/v1/realtime/ice-servers", { signal });
      const { ice_servers, ice_transport_policy } = await response.json();
      return { iceServers: ice_servers, iceTransportPolicy: ice_transport_policy ?? "all" };
    },
    async openCall(sdp, session, signal) {
      const body = new FormData();
      body.set("sdp", sdp);
      body.set("session", JSON.stringify(session));
      const response = await request(CALLS, { method: "POST", body, signal });
      const location = response.headers.get("Location") ?? "";
      return { answer: await response.text(), location };
    },
    async trickle(location, fragment) {
      const headers = { "Content-Type": "application/trickle-ice-sdpfrag" };
      await send(location, { method: "PATCH", headers, body: fragment });
    },
    hangUp(location) {
      const path = `${location}/hangup`;
      // Older browsers cancel a plain fetch as the page goes; a beacon cannot carry the bearer.
      if (!("keepalive" in Request.prototype)) navigator.sendBeacon(path);
      else send(path, { method: "POST", keepalive: true }).catch(() => {});
    },
  };
}

/** @param {(refused: string) => Promise<string>} askSecret @param {Storage} storage */
async function authorise(askSecret, storage) {
  storage.removeItem(BEARER);
  for (let refused = ""; ;) {
    const secret = await askSecret(refused);
    const headers = { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" };
    const response = await reach(() =>
      fetch("/v1/realtime/client_secrets", { method: "POST", headers, body: PASS }),
    );
    if (response.ok) return storage.setItem(BEARER, (await response.json()).value);
    const error = await failure(response);
    if (response.status !== 401 && response.status !== 403) throw error;
    refused = error.message;
  }
}

/** @param {() => Promise<Response>} attempt */
async function reach(attempt) {
  try {
    return await attempt();
  } catch (cause) {
    if (cause instanceof Error && cause.name === "AbortError") throw cause;
    throw new ApiError(0, { message: "The server cannot be reached.", code: "unreachable" });
  }
}

/** @param {Response} response */
async function failure(response) {
  const retryAfter_s = Number.parseFloat(response.headers.get("Retry-After") ?? "");
  const body = await response.json().catch(() => ({}));
  return new ApiError(
    response.status,
    body.error ?? {},
    Number.isFinite(retryAfter_s) ? retryAfter_s : null,
  );
}
