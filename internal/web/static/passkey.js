// Passkeys: a form with data-passkey asks the server for a challenge, lets the
// browser answer it, and is sent with the answer like any other form.

const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

// decoded turns base64url values of the server into bytes for the browser.
function decoded(options) {
  options.challenge = bytes(options.challenge);
  if (options.user) options.user.id = bytes(options.user.id);
  for (const list of ["excludeCredentials", "allowCredentials"]) {
    for (const key of options[list] ?? []) key.id = bytes(key.id);
  }
  return options;
}

function encoded(credential) {
  const from = credential.response;
  const response = { clientDataJSON: text(from.clientDataJSON) };
  for (const name of ["attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (from[name]) response[name] = text(from[name]);
  }
  if (from.getTransports) response.transports = from.getTransports();
  return JSON.stringify({
    id: credential.id,
    rawId: text(credential.rawId),
    type: credential.type,
    authenticatorAttachment: credential.authenticatorAttachment ?? undefined,
    clientExtensionResults: credential.getClientExtensionResults(),
    response,
  });
}

const reasons = {
  NotAllowedError: "The passkey was not used. It was canceled, it timed out, or this device has no passkey for this site.",
  InvalidStateError: "This device already has a passkey for your account.",
  SecurityError: "Passkeys do not work at this address.",
};

async function answer(form) {
  const fields = new URLSearchParams(new FormData(form));
  fields.delete("credential");
  const reply = await fetch(form.dataset.challenge, { method: "POST", body: fields, credentials: "same-origin" });
  if (!reply.ok || !reply.headers.get("Content-Type")?.includes("json")) {
    throw new Error("The server did not respond as expected. Refresh the page.");
  }
  const publicKey = decoded((await reply.json()).publicKey);
  const credential = form.dataset.passkey === "create" ? await navigator.credentials.create({ publicKey }) : await navigator.credentials.get({ publicKey });
  form.elements.credential.value = encoded(credential);
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  if (!window.PublicKeyCredential) {
    form.hidden = true;
    continue;
  }
  const error = form.querySelector("[data-passkey-error]");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    error.hidden = true;
    try {
      await answer(form);
      form.submit();
    } catch (problem) {
      error.textContent = reasons[problem.name] ?? problem.message;
      error.hidden = false;
    }
  });
}
