// Improves the three key pages, which work without it. It stores nothing, and removes secrets when the user leaves the page.
(() => {
  const SENT_MS = 3_000;

  function textOf(id) {
    return document.getElementById(id)?.textContent.trim() ?? '';
  }

  function say(id, text) {
    const place = document.getElementById(id);
    if (place !== null && place.textContent !== text) place.textContent = text;
  }

  async function copy(id) {
    const place = document.getElementById(id);
    const codes = [...place.querySelectorAll('code')].map(({ textContent }) => textContent.trim());
    try {
      await navigator.clipboard.writeText(codes.length > 0 ? codes.join('\n') : textOf(id));
      return true;
    } catch {
      // The clipboard is missing or not allowed, so select the text for copying by hand.
      getSelection()?.selectAllChildren(place);
      return false;
    }
  }

  function offerCopy(button) {
    const name = button.textContent;
    button.hidden = false;
    button.addEventListener('click', async () => {
      const isDone = await copy(button.dataset.copy);
      button.textContent = isDone ? 'Copied' : 'Selected';
      say('said', isDone ? 'Copied' : 'Selected. Copy it with your keyboard.');
    });
    button.addEventListener('blur', () => {
      button.textContent = name;
    });
  }

  function isSame({ dataset, value }) {
    const shown = textOf(dataset.shown);
    const typed = value.trim();
    if (shown === '') return false;
    return dataset.anyCase === undefined ? typed === shown : typed.toUpperCase() === shown.toUpperCase();
  }

  function tellState(field) {
    const isLong = field.value.trim().length >= textOf(field.dataset.shown).length;
    const state = document.getElementById(`${field.id}-state`);
    state.textContent = isSame(field) ? 'Matches.' : isLong ? 'Not the same as above.' : '';
    state.dataset.good = String(isSame(field));
  }

  // Disables the button until the typed secrets match the shown ones.
  function holdShut(form, fields) {
    const button = form.querySelector('button[type=submit]');
    const look = () => {
      const missing = fields.filter((field) => !isSame(field)).map(({ dataset }) => dataset.name);
      for (const field of fields) tellState(field);
      button.disabled = missing.length > 0;
      say('left', missing.length > 0 ? `Still to type: ${missing.join(', ')}.` : 'All match. You can confirm now.');
    };
    form.addEventListener('input', look);
    look();
  }

  // Prevents a second press from sending the form twice.
  function sendOnce() {
    let isSent = false;
    addEventListener('submit', (event) => {
      if (isSent) event.preventDefault();
      isSent = true;
      // Allow another try, because the user may have stopped the request.
      setTimeout(() => {
        isSent = false;
      }, SENT_MS);
    });
  }

  // Makes a reload or the back button show the current state instead of sending the form again.
  history.replaceState(null, '', location.pathname);
  for (const button of document.querySelectorAll('button[data-copy]')) offerCopy(button);
  const form = document.querySelector('form[data-typed-back]');
  const fields = form === null ? [] : [...form.querySelectorAll('input[data-shown]')];
  if (fields.length > 0) holdShut(form, fields);
  sendOnce();

  addEventListener('pagehide', () => {
    for (const secret of document.querySelectorAll('[data-secret]')) secret.remove();
    for (const input of document.querySelectorAll('input[data-typed-secret]')) input.value = '';
  });
  addEventListener('pageshow', (event) => {
    // The browser restored the page from its cache, but without the secrets, so load the current state.
    if (event.persisted) location.replace(location.pathname);
  });
})();
