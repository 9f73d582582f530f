// Runs the consent page. The key goes into a header of one request and nowhere else.
(() => {
  const byId = (id) => document.getElementById(id);
  const [proof, proven, over] = [byId('proof'), byId('proven'), byId('over')];
  // The page only says that the attempt is over.
  if (proof === null) return;
  const [key, code, allow, cancel] = ['merchant-key', 'pairing-code', 'allow', 'cancel'].map(byId);
  const WHOLE = {
    key: /^[a-z][a-z0-9]*_sk_[0-9A-Za-z]{49}$/,
    code: /^[a-z][a-z0-9]*_pc_[0-9A-Z]{5}(-[0-9A-Z]{5}){2}$/i,
  };
  const HELD_AGAINST = {
    key_invalid:
      'This key is not valid. Use the newest key that you saved. If you have lost it, recover the store with a code.',
    pairing_code_refused: 'This code is not valid. Get a new code. It works once, within ten minutes.',
    secret_in_payload: 'Enter the key and the pairing code in their own fields. Nothing was stored.',
  };
  const LOST = {
    proof: 'No answer came. Nothing was allowed. Try again.',
    decision: 'No answer came, so it is not known here whether this was decided. Try again.',
  };
  let isBusy = false;

  function say(text) {
    byId('said').textContent = text;
  }

  function fault(field, text) {
    byId(`${field.id}-fault`).textContent = text;
    if (text === '') field.removeAttribute('aria-invalid');
    else field.setAttribute('aria-invalid', 'true');
  }

  // Removes the secret from the page at once, whatever the answer will be.
  function take(field) {
    const text = field.value.trim();
    field.value = '';
    for (const one of [key, code]) fault(one, '');
    return text;
  }

  async function ask(step, body, headers) {
    const answer = await fetch(`${location.pathname}/${step}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
    });
    return { isGood: answer.ok, body: await answer.json() };
  }

  function waitOf(seconds) {
    return seconds <= 90 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
  }

  function wordsOf({ reason, title, next_step, retry_after_seconds }) {
    if (reason === 'rate_limited') return `Too many attempts. Wait ${waitOf(retry_after_seconds)}, then try again.`;
    return HELD_AGAINST[reason] ?? `${title}. ${next_step}`;
  }

  function showProof() {
    proof.hidden = false;
    proven.hidden = true;
    allow.hidden = true;
  }

  function showProven(handle) {
    byId('handle').textContent = handle;
    proof.hidden = true;
    proven.hidden = false;
    allow.hidden = false;
    // Focus the text, not the button, so that a second Enter cannot allow access that the user has not read about.
    proven.focus();
  }

  function showOver() {
    for (const part of [proof, proven, allow]) part.hidden = true;
    over.hidden = false;
    over.focus();
  }

  // Runs one step at a time. A failed step changes nothing on the page; whether it changed anything at the market is unknown.
  async function once(act, lost) {
    if (isBusy) return;
    isBusy = true;
    try {
      await act();
    } catch {
      say(lost);
    } finally {
      isBusy = false;
    }
  }

  async function prove(field, body, headers) {
    say('Checking.');
    const { isGood, body: told } = await ask('prove', body, headers);
    say('');
    if (isGood) return showProven(told.handle);
    if (told.reason === 'connection_closed') return showOver();
    fault(field, wordsOf(told));
    field.focus();
  }

  function proveByKey() {
    return once(async () => {
      const text = take(key);
      if (!/^[\x21-\x7e]+$/.test(text)) {
        fault(key, 'Type or paste the key.');
        return key.focus();
      }
      await prove(key, {}, { authorization: `Bearer ${text}` });
    }, LOST.proof);
  }

  function proveByCode() {
    return once(async () => {
      const text = take(code);
      // A key must not be sent in a body, not even to be refused.
      if (text === '' || /_sk_/i.test(text)) {
        fault(code, text === '' ? 'Type or paste the code.' : HELD_AGAINST.secret_in_payload);
        return code.focus();
      }
      await prove(code, { pairing_code: text }, {});
    }, LOST.proof);
  }

  function decide(decision) {
    return once(async () => {
      const { isGood, body } = await ask('decide', { decision }, {});
      if (isGood) {
        for (const part of [proof, allow, cancel]) part.hidden = true;
        say(
          decision === 'allow'
            ? 'Allowed. On the way back to the program.'
            : 'Canceled. On the way back to the program.',
        );
        location.assign(body.location);
        return;
      }
      if (body.reason === 'connection_closed') {
        cancel.hidden = true;
        return showOver();
      }
      if (body.reason === 'proof_missing') {
        showProof();
        key.focus();
      }
      say(wordsOf(body));
    }, LOST.decision);
  }

  function offer(form, field, whole, act) {
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      act();
    });
    // Sends a complete secret without waiting for the button.
    field.addEventListener('input', () => {
      if (whole.test(field.value.trim())) act();
    });
  }

  offer(byId('by-key'), key, WHOLE.key, proveByKey);
  offer(byId('by-code'), code, WHOLE.code, proveByCode);
  allow.addEventListener('click', () => decide('allow'));
  cancel.addEventListener('click', () => decide('cancel'));
  byId('decide').hidden = false;
  if (proof.dataset.proven !== 'true') showProof();

  addEventListener('pagehide', () => {
    for (const field of [key, code]) field.value = '';
  });
  addEventListener('pageshow', (event) => {
    // The browser restored the page from its cache, so load the current state.
    if (event.persisted) location.reload();
  });
})();
