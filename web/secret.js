// Asks the user for the operator's secret, in a dialog.

import { byId } from "./view.js";

/**
 * @param {string} refused Why the last one was not accepted, or "".
 * @returns {Promise<string>} Rejects with an AbortError when the user declines.
 */
export function askSecret(refused) {
  const dialog = byId("secret-dialog");
  const input = byId("secret");
  byId("secret-refused").textContent = refused;
  input.value = "";
  dialog.showModal();
  return new Promise((resolve, reject) => {
    byId("secret-cancel").onclick = () => dialog.close();
    dialog.querySelector("form").onsubmit = () => (dialog.returnValue = "given");
    dialog.onclose = () => {
      const secret = input.value;
      const given = dialog.returnValue === "given";
      input.value = dialog.returnValue = "";
      if (given) resolve(secret);
      else reject(new DOMException("No secret was given.", "AbortError"));
    };
  });
}
