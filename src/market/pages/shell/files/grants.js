// Lists and revokes the programs that act for a store. Keeps the key only in this script's memory, for at most ten minutes.
(() => {
  const HELD_MS = 600_000;
  const byId = (id) => document.getElementById(id);
  const field = byId('merchant-key');
  const words = new Map(
    [...byId('scope-words').children].flatMap((term) =>
      term.tagName === 'DT' ? [[term.textContent, term.nextElementSibling.textContent]] : [],
    ),
  );
  let held = '';
  let forgetting = 0;

  function say(text) {
    byId('said').textContent = text;
  }

  function fault(text) {
    byId('merchant-key-fault').textContent = text;
    if (text === '') return field.removeAttribute('aria-invalid');
    field.setAttribute('aria-invalid', 'true');
    field.focus();
  }

  function forget() {
    held = '';
    field.value = '';
  }

  function hold(key) {
    held = key;
    clearTimeout(forgetting);
    forgetting = setTimeout(forget, HELD_MS);
  }

  async function ask(method, path) {
    const answer = await fetch(path, {
      method,
      headers: { authorization: `Bearer ${held}` },
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'error',
    });
    const body = await answer.json();
    if (answer.ok) return body;
    throw Object.assign(new Error(body.title), { told: body });
  }

  function wordsOf({ told }) {
    if (told === undefined) return 'No answer came. Show the list again to see its current state.';
    if (told.reason === 'key_invalid' || told.reason === 'key_required') {
      return 'This key is not valid. Use the newest key that you saved. If you have lost it, recover the store with a code.';
    }
    return `${told.title}. ${told.next_step}`;
  }

  // Removes invisible characters from a client's name.
  function nameOf({ client_name: name }) {
    const seen = (name ?? '')
      .normalize('NFKC')
      .replaceAll(/[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu, ' ')
      .replaceAll(/(\p{M}{2})\p{M}+/gu, '$1')
      .replaceAll(/\s+/g, ' ')
      .trim();
    return seen === '' ? 'A program without a name' : [...seen].slice(0, 60).join('');
  }

  function timeOf(at) {
    const time = document.createElement('time');
    time.dateTime = at;
    time.title = at;
    time.textContent = `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`;
    return time;
  }

  function standingOf({ proven_at: provenAt, revoked_at: revokedAt }) {
    if (revokedAt !== null) return ['Ended ', timeOf(revokedAt)];
    return provenAt === null
      ? ['In force; it has not read your record yet']
      : ['In force; it first read your record ', timeOf(provenAt)];
  }

  function show(item, grant) {
    const place = (name) => item.querySelector(`[data-${name}]`);
    place('name').textContent = nameOf(grant);
    place('host').textContent = grant.client_host ?? 'Nothing: it registered itself, so its name proves nothing';
    place('redirect').textContent = grant.redirect_host;
    place('scopes').textContent = grant.scopes.map((scope) => words.get(scope) ?? scope).join(' ');
    place('granted').replaceChildren(
      timeOf(grant.granted_at),
      grant.proved_by === 'key' ? ', by the key' : ', by a pairing code',
    );
    place('standing').replaceChildren(...standingOf(grant));
    place('revoke').closest('.row').hidden = grant.revoked_at !== null;
    item.dataset.inForce = String(grant.revoked_at === null);
  }

  function itemOf(grant) {
    const item = byId('grant').content.firstElementChild.cloneNode(true);
    const [title, button] = [item.querySelector('h3'), item.querySelector('[data-revoke]')];
    title.id = `grant-${grant.id}`;
    button.setAttribute('aria-describedby', title.id);
    show(item, grant);
    button.addEventListener('click', async () => {
      if (held === '') {
        say('');
        return fault('The key was forgotten meanwhile. Type or paste it again.');
      }
      try {
        show(item, (await ask('POST', `/api/grants/${grant.id}/revoke`)).grant);
        say('Revoked. From now on it can do nothing.');
        title.focus();
      } catch (error) {
        say(wordsOf(error));
      }
    });
    return item;
  }

  async function list() {
    const key = field.value.trim();
    forget();
    fault('');
    if (!/^[\x21-\x7e]+$/.test(key)) return fault('Type or paste the key.');
    hold(key);
    try {
      const { grants } = await ask('GET', '/api/grants');
      byId('list').replaceChildren(...grants.map(itemOf));
      byId('none').hidden = grants.length > 0;
      byId('grants').hidden = false;
      say('');
      byId('grants').focus();
    } catch (error) {
      forget();
      say('');
      fault(wordsOf(error));
    }
  }

  byId('by-key').addEventListener('submit', (event) => {
    event.preventDefault();
    list();
  });
  byId('ask').hidden = false;

  addEventListener('pagehide', forget);
  addEventListener('pageshow', (event) => {
    if (event.persisted) location.reload();
  });
})();
