import { html } from 'ghtml';
import { STAGE_MINUTES } from '../../../contract/vocabulary.ts';
import { isoTime } from '../../../platform/clock.ts';
import { renderTextField, requestedCodes } from './fields.ts';
import { HANDLE_HINT } from './join.ts';
import type { Confirmed, Fault, KeyPage } from './key-page.ts';
import { type EndedChange, markOf, type OpenChange, type PendingCookie } from './key-page-session.ts';

export interface ConfirmForm {
  token: string;
  cookie: PendingCookie;
  codeCount: number;
  faults: readonly Fault[];
  /** Whether the secrets are on this page, so that the script can compare them. */
  isShown: boolean;
  /** Value of the handle input. Null hides the input, which is needed only if the pending handle has been taken. */
  handle: string | null;
}

/** Renders the form for typing the secrets back, which proves that they were saved, and a cancel button. */
export function renderConfirm({ path, words }: KeyPage, form: ConfirmForm): string {
  const { token, cookie, codeCount, faults, isShown, handle } = form;
  const mark = markOf(cookie);
  const codes = codeCount === 0 ? [] : requestedCodes(cookie, codeCount);
  const common = { faults, isMachine: true, isSecret: true };
  return html`<form method="post" action="${path}" novalidate autocomplete="off" data-typed-back>
!${renderHiddenFields({ action: 'confirm', token, mark })}
!${handle === null ? '' : renderTextField({ name: 'handle', label: 'Another handle', hint: HANDLE_HINT, faults, value: handle })}
!${renderTextField({
    ...common,
    name: 'merchant_key',
    label: 'The new key',
    hint: 'From where you saved it.',
    ...(isShown ? { shownAs: 'key' } : {}),
  })}
!${codes.map(({ field, number }) =>
    renderTextField({
      ...common,
      name: field,
      label: `Code ${number}`,
      hint: 'From where you saved it, in any case.',
      ...(isShown ? { shownAs: `code-${number}` } : {}),
      anyCase: true,
    }),
  )}
<p class="state" id="left" role="status"></p>
<div class="row"><button class="main" type="submit" aria-describedby="left">${words.confirmButton}</button></div>
</form>
<form method="post" action="${path}">
!${renderHiddenFields({ action: 'cancel', token, mark })}
<button type="submit">Cancel</button>
<span class="hint">Nothing is in force yet. You can begin again afterwards.</span>
</form>`;
}

interface AgainPage {
  token: string;
  pending: OpenChange;
  faults?: readonly Fault[];
  handle?: string | null;
}

/** Renders the confirm form without the secrets, which are shown only once. Used after a reload, in a second tab and after wrong input. */
export function renderConfirmAgain(
  keyPage: KeyPage,
  { token, pending, faults = [], handle = null }: AgainPage,
): string {
  const { cookie, change, shownAt, expiresAt } = pending;
  const codeCount = change.kind === 'rotate' ? 0 : change.codeHashes.length;
  const form = { token, cookie, codeCount, faults, isShown: false, handle };
  return html`!${renderFaults(faults)}
<h1>Shown already</h1>
<p class="summary">${keyPage.words.secrets} were shown at !${renderTime(shownAt)} and cannot be shown again.</p>
<p>If you have saved them, type them back before !${renderTime(expiresAt)}. If not, cancel and begin again: nothing is in force yet, and nothing is lost.</p>
!${renderConfirm(keyPage, form)}`;
}

export function renderDone({ words }: KeyPage, confirmed: Confirmed): string {
  const { before, address, name, after } = words.next;
  return html`<div class="notice good" role="status" tabindex="-1" autofocus>
<h1>${words.doneTitle}</h1>
</div>
<ul>!${words.done(confirmed).map((line) => html`<li>${line}</li>`)}</ul>
<h2>Next</h2>
<p>${before}<a href="${address}">${name}</a>${after}</p>`;
}

interface Message {
  title: string;
  text: string;
  link: { before: string; address: string; name: string; after: string };
}

export function renderMessage({ title, text, link }: Message): string {
  return html`<h1>${title}</h1>
<p class="summary">${text}</p>
<p>${link.before}<a href="${link.address}">${link.name}</a>${link.after}</p>`;
}

/** Renders a request to finish or cancel another key page's change first, because a browser has one pending change at a time. */
export function renderOtherChange(begun: KeyPage, pending: OpenChange, token: string): string {
  return html`<h1>Something else is begun</h1>
<p class="summary">“${begun.words.title}” was begun in this browser at !${renderTime(pending.shownAt)} and is not confirmed.</p>
<p>Finish it at <a href="${begun.path}">${begun.words.title}</a>, or cancel it here. Nothing is in force yet.</p>
<form method="post" action="${begun.path}">
!${renderHiddenFields({ action: 'cancel', token })}
<button class="main" type="submit">Cancel it</button>
</form>`;
}

/** Renders the time of day in UTC; the tooltip has the full time. */
export function renderTime(at: Date): string {
  const iso = isoTime(at);
  return html`<time datetime="${iso}" title="${iso}">${iso.slice(11, 16)} UTC</time>`;
}

/** Renders the list of faults, which is first on the page and gets the focus. Each fault links to its field. */
export function renderFaults(faults: readonly Fault[]): string {
  if (faults.length === 0) return '';
  const lines = faults.map(({ field, message }) =>
    field === null ? html`<li>${message}</li>` : html`<li><a href="#${field}">${message}</a></li>`,
  );
  return html`<div class="notice danger" role="alert" tabindex="-1" autofocus id="faults">
<h2>Nothing was done</h2>
<ul>!${lines}</ul>
</div>`;
}

export interface Notice {
  tone: 'good' | 'warn' | 'danger';
  title: string;
  text: string;
}

export function renderNotice(notice: Notice | null): string {
  if (notice === null) return '';
  return html`<div class="notice ${notice.tone}" role="status">
<h2>${notice.title}</h2>
<p>${notice.text}</p>
</div>`;
}

export function noticeOfEnd({ is }: EndedChange, { words }: KeyPage): Notice {
  const { secrets, unchanged, doneElsewhere } = words;
  const worthless = `${secrets} that were shown are worth nothing: delete them.`;
  switch (is) {
    case 'confirmed':
      return { tone: 'good', title: 'Confirmed already', text: `${doneElsewhere} Nothing is left to do here.` };
    case 'canceled':
      return { tone: 'warn', title: 'Canceled', text: `${unchanged} ${worthless} You can begin again below.` };
    case 'expired':
      return {
        tone: 'warn',
        title: 'Out of time',
        text: `What you began was not confirmed within ${STAGE_MINUTES} minutes. ${unchanged} ${worthless} You can begin again below.`,
      };
    case 'superseded':
      return {
        tone: 'warn',
        title: 'Overtaken',
        text: `Key or codes of this store were replaced elsewhere meanwhile. ${worthless} If that was not you, recover the store with a code.`,
      };
  }
}

export function renderHiddenFields(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)
    .join('');
}
