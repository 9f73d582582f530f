// Keeps the window up to date through the event stream, or by polling every ten seconds while the stream fails. Pauses while the page is
// hidden. New rows wait while the user reads. Data becomes text, never markup.
(() => {
  const bar = document.getElementById('live');
  if (bar === null) return;
  const byId = (id) => document.getElementById(id);
  const [panes, state, news, pause, heard] = ['panes', 'live-state', 'live-news', 'live-pause', 'live-heard'].map(byId);
  const lists = { events: byId('event-rows'), listings: byId('listing-rows'), merchants: byId('merchant-rows') };
  const { last: newest, maintainer, stream, kinds, words, aisles, most } = JSON.parse(bar.dataset.live);
  const says = new Map(Object.entries(words.says));
  const systemActors = new Map(Object.entries(words.systemActors));
  const HANDLE = new RegExp(words.handle);
  const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]/gu;
  const PILED = /(\p{M}{3})\p{M}+/gu;
  const NUMBER = new Intl.NumberFormat('en-US');
  const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });

  const [BATCH_MS, HELD_MS, COUNT_MS, CUT_MS] = [250, 500, 2_000, 8_000];
  const [POLL_MS, AGAIN_MS, HEARD_MS, AGE_MS] = [10_000, 60_000, 30_000, 30_000];
  const [LONGEST_TITLE, ASKED_AT_ONCE, FEW] = [120, 2, 3];

  // Helpers for rows, which must look like those of the server.
  function make(name, className, ...children) {
    const node = document.createElement(name);
    if (className !== '') node.className = className;
    node.append(...children);
    return node;
  }
  const link = (path, ...children) => Object.assign(make('a', '', ...children), { href: path });
  /** Sets the text of a node, and hides it if the text is empty. */
  const write = (node, text) => Object.assign(node, { textContent: text, hidden: text === '' });
  const named = (id, node) => Object.assign(node, { id });
  const seen = (text) => String(text).replaceAll(UNSEEN, '\u{fffd}').replaceAll(PILED, '$1');
  const isId = (value) => Number.isSafeInteger(value) && value > 0;

  function lineOf(text) {
    const letters = [...seen(text).replaceAll(/\s+/g, ' ').trim()];
    const isLong = letters.length > LONGEST_TITLE;
    return isLong ? `${letters.slice(0, LONGEST_TITLE).join('').trimEnd()}…` : letters.join('');
  }
  function storeLink(handle) {
    const name = make('bdi', '', seen(handle));
    if (!HANDLE.test(handle)) return name;
    const marked = document.createDocumentFragment();
    marked.append(link(`/store/${handle}`, name));
    if (handle === maintainer) marked.append(' ', make('span', 'verified', 'Maintainer'));
    return marked;
  }
  function priceOf(usdc) {
    if (typeof usdc !== 'number' || usdc === 0) return usdc === 0 ? 'Free' : '';
    const [whole, decimals] = usdc.toFixed(6).split('.');
    return `${NUMBER.format(BigInt(whole))}.${decimals.replace(/0{1,4}$/, '')} USDC`;
  }
  function phraseOf({ kind, detail: { action, outcome } }) {
    return says.get(`${kind}.${action}.${outcome}`) ?? says.get(`${kind}.${action}`) ?? says.get(kind) ?? String(kind);
  }
  function targetOf({ kind, detail }) {
    const id = detail.listing_id;
    if (isId(id)) return link(`/listing/${id}${kind === 'comment' ? '#comments' : ''}`, `listing ${id}`);
    const other = ['comment', 'merchant', 'payment'].find((name) => isId(detail[`${name}_id`]));
    return other === undefined ? 'something' : `${other} ${detail[`${other}_id`]}`;
  }
  function closeOf({ paid_usdc: paid, price_usdc: price, reason_code: code }) {
    if (typeof paid === 'number') return paid === 0 ? ' free of charge' : ` for ${priceOf(paid)}`;
    if (typeof price === 'number') return price === 0 ? ' free of charge' : ` at ${priceOf(price)}`;
    return typeof code === 'string' ? `: ${seen(code.replaceAll('_', ' '))}` : '';
  }
  function sentenceOf(event) {
    const [before, after] = phraseOf(event).split('%');
    const who =
      event.actor === 'system' ? (systemActors.get(event.kind) ?? words.unknownActor) : storeLink(event.actor);
    const what = after === undefined ? [] : [targetOf(event), after];
    return make('span', 'said', who, ` ${before}`, ...what, closeOf(event.detail));
  }

  // How far this machine's clock is ahead of the market's, measured by pushed events, which have just happened.
  let skewMs = null;
  function ageOf(at) {
    const minutes = Math.floor((Date.now() - (skewMs ?? 0) - at) / 60_000);
    if (minutes < 1) return 'just now';
    const [size, name] = [
      [1_440, 'day'],
      [60, 'hour'],
      [1, 'minute'],
    ].find(([least]) => minutes >= least);
    const count = Math.floor(minutes / size);
    return `${count} ${name}${count === 1 ? '' : 's'} ago`;
  }
  function timeOf(iso) {
    return Object.assign(make('time', '', ageOf(Date.parse(iso))), { dateTime: iso, title: iso });
  }

  /** Updates ages, but not times that the server rendered as a date. */
  function growOlder() {
    for (const node of panes.querySelectorAll('time')) {
      if (/now$|ago$/.test(node.textContent)) node.textContent = ageOf(Date.parse(node.dateTime));
    }
  }

  const eventRow = (event) => named(`event-${event.id}`, make('li', '', sentenceOf(event), ' ', timeOf(event.at)));
  const merchantRow = ({ handle, joined_at: at }) =>
    named(`merchant-${handle}`, make('li', '', storeLink(handle), ' ', timeOf(at)));

  function listingRow({ id, merchant, aisle, price_usdc: price, created_at: at }) {
    const title = link(`/listing/${id}`, make('bdi', '', `Listing ${id}`));
    title.className = 'title';
    const [sold, flagged, ended] = ['sold', 'flagged', 'ended'].map((name) => write(make('span', name), ''));
    const [cost, where, age] = [
      make('span', 'price', priceOf(price)),
      make('span', '', aisles[aisle] ?? ''),
      timeOf(at),
    ];
    const meta = make('span', 'meta');
    for (const node of [cost, storeLink(merchant), where, sold, flagged, make('span', '', age)]) meta.append(node, ' ');
    const row = make('li', Object.hasOwn(aisles, aisle) ? aisle : 'other', title, ' ', meta, ended);
    return named(`listing-${id}`, row);
  }
  function fillListing(row, { title, title_note: note, sales, state, text_flags: flags }) {
    const part = (name) => row.querySelector(`.${name}`);
    part('title').firstElementChild.textContent = lineOf(title);
    write(part('sold'), sales === 0 ? '' : `${NUMBER.format(sales)} ${sales === 1 ? 'sale' : 'sales'}`);
    const [flagged, alike] = [
      flags.length > 0 ? ['Flagged text'] : [],
      note === undefined ? [] : ['Look-alike letters'],
    ];
    write(part('flagged'), [...flagged, ...alike].join(', '));
    write(part('ended'), state === 'live' ? '' : `${state.charAt(0).toUpperCase()}${state.slice(1)}`);
  }
  function put(list, rows, size) {
    // Remove the old row of a listing or merchant, so that it moves to the top.
    for (const { id } of rows) byId(id)?.remove();
    // Highlight new rows only if they are few, because animating many would overload the machine.
    if (rows.length <= FEW) for (const row of rows) row.classList.add('new');
    list.prepend(...rows);
    while (list.children.length > size) list.lastElementChild.remove();
    list.parentElement.querySelector('.empty').hidden = list.children.length > 0;
  }
  const setCount = (id, count) => write(byId(id), NUMBER.format(count));

  async function read(path) {
    const answer = await fetch(path, { cache: 'no-cache', credentials: 'same-origin', redirect: 'error' });
    if (!answer.ok) throw new Error(`answered ${answer.status}`);
    return await answer.json();
  }

  /** Listings whose rows still need their current data, which is requested for a few at a time. Failures are not retried. */
  const wanted = new Set();
  const asked = new Set();
  function askListings() {
    const id = [...wanted].find((one) => !asked.has(one));
    if (id === undefined || asked.size >= ASKED_AT_ONCE) return;
    wanted.delete(id);
    if (byId(`listing-${id}`) !== null) {
      asked.add(id);
      read(`/api/listing/${id}?comments_limit=1`)
        .then(({ listing }) => byId(`listing-${id}`) && fillListing(byId(`listing-${id}`), listing))
        .catch(() => undefined)
        .finally(() => setTimeout(() => asked.delete(id) && askListings(), BATCH_MS));
    }
    askListings();
  }

  /** Timer of the next exact count, which is requested because not every event changes the count by one. */
  let counting = 0;
  function countLater() {
    if (counting !== 0) return;
    counting = setTimeout(() => {
      counting = 0;
      read('/api/shelves?limit=1&fields=outline').then(showShelves, () => undefined);
    }, COUNT_MS);
  }
  function showShelves({ total, aisles: all }) {
    setCount('on-shelves-total', total);
    for (const { name, count } of [{ name: 'all', count: total }, ...all]) {
      const node = document.querySelector(`.aisles .${CSS.escape(name)} .count`);
      if (node !== null) node.textContent = NUMBER.format(count);
    }
  }

  const numberIn = (id) => Number(byId(id).textContent.replaceAll(',', ''));
  const totals = { events: numberIn('happened-total'), merchants: numberIn('newcomers-total') };
  let last = newest;
  /** Events not shown yet, oldest first. If they exceed the page size, the oldest are dropped and all rows are replaced. */
  let waiting = [];
  let [count, letGo, timer, toSay] = [0, 0, 0, 0];
  let [isPaused, isRenewing] = [false, false];
  let saidMs = Number.NEGATIVE_INFINITY;
  function take(event) {
    if (!isId(event.id) || event.id <= last) return;
    last = event.id;
    count += 1;
    waiting.push(event);
    if (waiting.length > most.events) letGo = waiting.shift().id;
    later(BATCH_MS);
  }
  function later(ms) {
    if (timer !== 0) return;
    timer = setTimeout(() => {
      timer = 0;
      bring();
    }, ms);
  }

  /** Whether rows must not move, because the user has scrolled down, is on a row with the keyboard, or points at a link. */
  function isBeingRead() {
    return panes.getBoundingClientRect().top < 0 || panes.querySelector('li a:focus-visible, li a:hover') !== null;
  }
  function bring() {
    if (waiting.length === 0) return;
    if (!isPaused && !isBeingRead()) return show();
    news.textContent = `Show ${NUMBER.format(count)} new`;
    news.hidden = false;
    if (!isPaused) later(HELD_MS);
  }
  function show() {
    if (letGo > 0) return void renew();
    const events = waiting;
    waiting = [];
    toSay += count;
    totals.events += count;
    count = 0;
    news.hidden = true;
    put(lists.events, events.map(eventRow).reverse(), most.events);
    setCount('happened-total', totals.events);
    showMerchants(events);
    showListings(events);
    sayNews();
  }
  function showMerchants(events) {
    const newcomers = events.filter(({ kind, actor }) => kind === 'register' && HANDLE.test(actor));
    if (newcomers.length === 0) return;
    totals.merchants += newcomers.length;
    setCount('newcomers-total', totals.merchants);
    const rows = newcomers.slice(-most.merchants).map(({ actor, at }) => merchantRow({ handle: actor, joined_at: at }));
    put(lists.merchants, rows.reverse(), most.merchants);
  }
  const isListed = ({ kind, detail }) => /^(?:listing|maintainer_seed)$/.test(kind) && isId(detail.listing_id);
  const listedRow = ({ actor, at, detail }) =>
    listingRow({ ...detail, id: detail.listing_id, merchant: actor, created_at: at });
  function showListings(events) {
    const rows = events.filter(isListed).slice(-most.listings).map(listedRow);
    put(lists.listings, rows.reverse(), most.listings);
    for (const event of events) markListing(event);
    if (events.some(({ kind }) => kind !== 'sale' && kind !== 'comment' && kind !== 'register')) countLater();
    askListings();
  }

  const REMOVED = 'Removed by the maintainer';
  const ENDS = { withdrawal: 'Withdrawn', world_sale: 'Sold', world_canceled: 'Canceled' };
  function markListing({ kind, detail }) {
    const row = byId(`listing-${detail.listing_id}`);
    if (row === null) return;
    if (kind !== 'comment') wanted.add(detail.listing_id);
    if (Object.hasOwn(ENDS, kind)) write(row.querySelector('.ended'), ENDS[kind]);
    if (kind !== 'moderation' || detail.action !== 'remove') return;
    // A removed listing no longer shows its title.
    fillListing(row, { title: REMOVED, sales: 0, state: 'removed', text_flags: [] });
  }

  /** Replaces all rows from one answer, after more events than fit on the page. */
  async function renew() {
    if (isRenewing) return;
    isRenewing = true;
    try {
      const { events, listings, merchants, aisles: shelves } = await read('/api/window');
      const upTo = events.items[0]?.id ?? 0;
      // Another process answered, which has not yet seen events that this page has received.
      if (upTo < letGo) throw new Error('behind');
      letGo = 0;
      last = Math.max(last, upTo);
      waiting = waiting.filter(({ id }) => id > upTo);
      toSay += count - waiting.length;
      count = waiting.length;
      news.hidden = true;
      Object.assign(totals, { events: events.total, merchants: merchants.total });
      fill(lists.events, events.items.slice(0, most.events).map(eventRow));
      fill(lists.listings, listings.items.slice(0, most.listings).map(listingRow));
      for (const one of listings.items.slice(0, most.listings)) fillListing(byId(`listing-${one.id}`), one);
      setCount('happened-total', events.total);
      setCount('newcomers-total', merchants.total);
      showShelves({ total: listings.total, aisles: shelves.items });
      if (merchants.items.length === merchants.total) {
        fill(lists.merchants, merchants.items.slice(-most.merchants).reverse().map(merchantRow));
      }
      sayNews();
      later(BATCH_MS);
    } catch {
      setTimeout(bring, COUNT_MS);
    } finally {
      isRenewing = false;
    }
  }
  function fill(list, rows) {
    list.replaceChildren(...rows);
    list.parentElement.querySelector('.empty').hidden = rows.length > 0;
  }

  /** Announces new events to screen readers, at most every half minute. */
  function sayNews() {
    if (performance.now() - saidMs < HEARD_MS) return;
    saidMs = performance.now();
    heard.textContent = `${NUMBER.format(toSay)} new ${toSay === 1 ? 'event' : 'events'}`;
    toSay = 0;
  }

  let source = null;
  let timers = {};
  let [isAsking, connection, sinceMs] = [false, '', null];
  const STATES = { connecting: 'Connecting', live: 'Live', checked: 'Checked every 10 seconds' };
  function say(name) {
    connection = name;
    if (name !== 'away') sinceMs = null;
    else sinceMs ??= Date.now();
    const text = name === 'away' ? `Not connected since ${CLOCK.format(sinceMs)}; what you see is older` : STATES[name];
    const shown = isPaused ? 'Paused' : text;
    if (state.textContent !== shown) state.textContent = shown;
    bar.dataset.state = isPaused ? 'paused' : name;
  }
  function stop() {
    source?.close();
    source = null;
    for (const one of Object.values(timers)) clearTimeout(one);
    timers = {};
  }
  function connect() {
    stop();
    if (typeof EventSource !== 'function') return void poll();
    const opened = new EventSource(`${stream}?scope=window&last_event_id=${last}`);
    source = opened;
    for (const kind of kinds) opened.addEventListener(kind, hear);
    opened.addEventListener('open', () => {
      clearTimeout(timers.cut);
      timers.cut = undefined;
      say('live');
    });
    opened.addEventListener('error', () => {
      // Browsers reconnect on their own after a dropped connection, but never after a refusal.
      if (opened.readyState === EventSource.CLOSED) fallBack();
      else timers.cut ??= setTimeout(fallBack, CUT_MS);
    });
    timers.cut = setTimeout(fallBack, CUT_MS);
  }
  function fallBack() {
    stop();
    timers.again = setTimeout(connect, AGAIN_MS);
    void poll();
  }
  function hear({ data }) {
    const event = JSON.parse(data);
    skewMs = Math.min(skewMs ?? Number.POSITIVE_INFINITY, Date.now() - Date.parse(event.at));
    take(event);
  }
  async function poll() {
    await check();
    if (!document.hidden && source === null) timers.poll = setTimeout(poll, POLL_MS);
  }

  /** Reads the newest page of the log. If it does not reach back to the last known event, events are missing. */
  async function check() {
    if (isAsking) return;
    isAsking = true;
    try {
      const { events, has_more: hasMore } = await read(`/api/events?scope=window&limit=${most.events}`);
      const fresh = events.filter(({ id }) => id > last).reverse();
      if (fresh.length === events.length && hasMore) letGo = Math.max(letGo, fresh[0].id - 1);
      for (const event of fresh) take(event);
      if (source === null) say('checked');
    } catch {
      if (source === null) say('away');
    }
    isAsking = false;
  }

  /** Reads missed events in one request, because the stream would replay hours of them row by row. */
  async function comeBack() {
    stop();
    await check();
    if (!document.hidden) connect();
  }

  document.addEventListener('visibilitychange', () => (document.hidden ? stop() : void comeBack()));
  addEventListener('pagehide', stop);
  addEventListener('pageshow', ({ persisted }) => persisted && void comeBack());
  addEventListener('online', () => void comeBack());
  addEventListener('offline', () => say('away'));

  pause.hidden = false;
  pause.addEventListener('click', () => {
    isPaused = !isPaused;
    pause.textContent = isPaused ? 'Go on' : 'Pause';
    say(connection);
    if (!isPaused) bring();
  });
  news.addEventListener('click', () => {
    if (document.activeElement === news) byId('happened').focus({ preventScroll: true });
    if (panes.getBoundingClientRect().top < 0) scrollTo({ top: 0 });
    show();
  });
  setInterval(() => document.hidden || isPaused || growOlder(), AGE_MS);

  say('connecting');
  // A page reached by the back button shows its state from when the user left, so read the events since then.
  const [entry] = performance.getEntriesByType('navigation');
  if (entry?.type === 'back_forward') void comeBack();
  else if (!document.hidden) connect();
})();
