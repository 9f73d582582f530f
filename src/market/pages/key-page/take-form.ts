import { html } from 'ghtml';
import { HANDLE_PATTERN } from '../../../contract/identity.ts';
import type { FormCall, PageAnswer } from '../../../platform/http/server-options.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import { cancelPendingChange } from '../../identity/pending-changes/pending-changes.ts';
import { takeNetworkQuota } from '../../limits/quotas.ts';
import { explainRefusal, retryHeaders, statusOf } from '../refusals.ts';
import { faultsOfSecretConfirmation, SECRET_CONFIRMATION_FIELDS } from './fields.ts';
import { HANDLE_HINT } from './join.ts';
import type { Confirmed, Fault, Form, KeyPage, Shown } from './key-page.ts';
import {
  clearPendingCookie,
  findPendingStatus,
  formToken,
  isFromOtherSite,
  isOfEarlierChange,
  isOwnToken,
  type KeyPageContext,
  type OpenChange,
  type PendingCookie,
  type PendingStatus,
  type Step,
  setPendingCookie,
} from './key-page-session.ts';
import { answerBegin, answerClosed, answerKeyPage, answerOpenChange } from './open-key-page.ts';
import {
  type Notice,
  noticeOfEnd,
  renderConfirm,
  renderConfirmAgain,
  renderDone,
  renderMessage,
  renderTime,
} from './render-key-page.ts';

const OUT_OF_DATE: Notice = {
  tone: 'warn',
  title: 'This form was out of date',
  text: 'Nothing was done. Send it again from here. If that does not help, let your browser keep the cookies of this site.',
};

/** POST. Takes one step, but only from a form that this market gave to this browser. */
export async function takeForm(context: KeyPageContext, call: FormCall): Promise<PageAnswer> {
  const { market, keyPage } = context;
  const { form, cookies, sentFrom } = call;
  if (isFromOtherSite(sentFrom, market.config.baseUrl)) return answerOtherSite(market, keyPage);
  if (!market.config.openIdentityEndpoints.has(keyPage.endpoint)) return answerClosed(market, keyPage);
  const token = formToken(market.random, keyPage.path, cookies);
  const pending = await findPendingStatus(market, cookies);
  const step = { ...context, call, token, pending };
  if (!isOwnToken(call, keyPage.path)) return answerOutOfDate(step);
  switch (form['action']) {
    case 'confirm':
      return await takeConfirm(step);
    case 'cancel':
      return await takeCancel(step);
    default:
      return await takeBegin(step);
  }
}

/** Shows nothing of the submitted form, because another site may have filled it in. */
function answerOtherSite({ random }: Market, { path, words }: KeyPage): PageAnswer {
  return answerKeyPage(random, {
    title: 'Not done',
    status: 403,
    path,
    main: renderMessage({
      title: 'Sent from another site',
      text: 'This form did not come from a page of this market. Nothing was done.',
      link: { before: 'If you meant it, begin at ', address: path, name: words.title, after: '.' },
    }),
  });
}

function answerOutOfDate(step: Step): PageAnswer {
  const { market, keyPage, call, token, pending } = step;
  const begun = answerOpenChange(step, { cookies: call.cookies, pending, status: 403 });
  if (begun !== null) return begun;
  const typed = call.sentFrom.site === 'same-origin' ? nonSecretFields(keyPage, call.form) : {};
  return answerBegin(market, keyPage, { token, typed, notice: OUT_OF_DATE, status: 403 });
}

async function takeBegin(step: Step): Promise<PageAnswer> {
  const { market, keyPage, call, token, pending } = step;
  const { form, cookies, clientNetwork } = call;
  const begun = answerOpenChange(step, { cookies, pending, status: 409 });
  if (begun !== null) return begun;
  const typed = nonSecretFields(keyPage, form);
  const faults = keyPage.check(form);
  if (faults.length > 0) return answerBegin(market, keyPage, { token, typed, faults, status: 422 });
  try {
    const shown = await keyPage.begin(market, form, clientNetwork);
    const cookie: PendingCookie = { kind: keyPage.kind, session: shown.session, csrf: shown.csrf };
    const main = renderShown(keyPage, { token: token.value, cookie, shown, baseUrl: market.config.baseUrl });
    return answerKeyPage(market.random, {
      title: 'Save this now',
      ...{ main, path: keyPage.path, cookie: setPendingCookie(cookie) },
    });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const refused = { status: statusOf(error), headers: retryHeaders(error), faults: [explainRefusal(error)] };
    return answerBegin(market, keyPage, { token, typed, ...refused });
  }
}

async function takeCancel({ market, keyPage, call, token, pending }: Step): Promise<PageAnswer> {
  const isOwn = pending.is !== 'none' && pending.change.kind === keyPage.kind;
  if (!isOwn || isOfEarlierChange(call.form, pending.cookie)) {
    const notice: Notice = { tone: 'warn', title: 'Nothing to cancel', text: 'Nothing is begun here in this browser.' };
    return answerBegin(market, keyPage, { token, notice, status: 409 });
  }
  if (pending.is === 'open') await cancelPendingChange(market, keyPage.kind, pending.cookie);
  const over = pending.is === 'open' ? { ...pending, is: 'canceled' as const } : pending;
  const cookie = over.is === 'confirmed' ? null : clearPendingCookie();
  const status = over.is === 'confirmed' ? 409 : 200;
  return answerBegin(market, keyPage, { token, notice: noticeOfEnd(over, keyPage), status, cookie });
}

/** Returns the fields that may be shown again, without any secrets. */
function nonSecretFields({ secretFields }: KeyPage, form: Form): Form {
  const safeFields = Object.entries(form).filter(
    ([name]) => !secretFields.includes(name) && !SECRET_CONFIRMATION_FIELDS.includes(name),
  );
  return Object.fromEntries(safeFields);
}

interface ShownPage {
  token: string;
  cookie: PendingCookie;
  shown: Shown;
  baseUrl: string;
}

/** Renders the only page that ever shows the key and the codes. */
function renderShown(keyPage: KeyPage, { token, cookie, shown, baseUrl }: ShownPage): string {
  const codes = shown.recovery_codes ?? [];
  const what =
    codes.length > 0
      ? 'Key and codes are shown once. They cannot be shown again.'
      : 'Your key is shown once. It cannot be shown again.';
  const form = { token, cookie, codeCount: codes.length, faults: [], isShown: true, handle: null };
  return html`<h1>Save this now</h1>
<p class="summary">${what}</p>
<section class="shown" data-secret>
<h2 id="key-name">New merchant key of ${shown.handle}</h2>
<code class="key" id="key">${shown.merchant_key}</code>
<div class="row"><button type="button" data-copy="key" hidden aria-describedby="key-name">Copy the key</button></div>
</section>
!${codes.length === 0 ? '' : renderCodes(codes)}
<p data-secret><a class="button" download="openaisle-${shown.handle}.txt" href="${downloadUrl(keyPage, shown, baseUrl)}">Download as a text file</a></p>
<p id="said" class="state" role="status"></p>
<h2>Type it back</h2>
<p>Before !${renderTime(new Date(shown.expires_at))}, from where you saved it. Until then nothing is in force.</p>
!${renderConfirm(keyPage, form)}`;
}

function renderCodes(codes: readonly string[]): string {
  const line = (code: string, index: number): string => html`<li><code id="code-${index + 1}">${code}</code></li>`;
  return html`<section class="shown" data-secret>
<h2 id="codes-name">Eight recovery codes</h2>
<ol class="codes" id="codes" aria-labelledby="codes-name">!${codes.map(line)}</ol>
<div class="row"><button type="button" data-copy="codes" hidden aria-describedby="codes-name">Copy the codes</button></div>
</section>`;
}

/** Builds the text file as a data URL, so that saving needs no script and no second request for the secrets. */
function downloadUrl({ path }: KeyPage, shown: Shown, baseUrl: string): string {
  const codes = shown.recovery_codes ?? [];
  const lines = [
    `Openaisle, ${baseUrl}`,
    `Handle: ${shown.handle}`,
    '',
    'Merchant key (goes into Authorization of this host and nowhere else):',
    shown.merchant_key,
    ...(codes.length > 0
      ? [
          '',
          `Recovery codes (one of them, at ${baseUrl}/recovery, replaces key and codes):`,
          ...codes.map((code, index) => `${index + 1}. ${code}`),
        ]
      : []),
    '',
    `In force only once it is confirmed at ${baseUrl}${path}, before ${shown.expires_at}.`,
    '',
  ];
  return `data:text/plain;charset=utf-8,${encodeURIComponent(lines.join('\n'))}`;
}

const NOTHING_BEGUN: Notice = {
  tone: 'warn',
  title: 'Nothing is begun here',
  text: 'There is nothing to confirm in this browser: it was canceled, or its cookies are gone. Nothing was done. Begin below.',
};

const EARLIER_FORM_FAULT: Fault = {
  field: null,
  message: 'That page was of an earlier beginning, which is worth nothing now. What is asked for here was shown later.',
};

/** Takes the second step: checks the typed secrets and activates them. Every try counts against the quota, wrong ones too. */
async function takeConfirm(step: Step): Promise<PageAnswer> {
  const { market, keyPage, call, pending } = step;
  if (pending.is !== 'open' || pending.change.kind !== keyPage.kind) return answerEnded(step, pending);
  if (isOfEarlierChange(call.form, pending.cookie))
    return answerConfirmAgain(step, pending, { faults: [EARLIER_FORM_FAULT], status: 409 });
  try {
    const faults = findFaults(step, pending);
    if (faults.length > 0) {
      await takeNetworkQuota(market, 'confirm_per_ip_hour', call.clientNetwork);
      return answerConfirmAgain(step, pending, { faults, status: 422 });
    }
    return await answerDone(step, await confirmChange(step, pending));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.reason === 'stage_closed' || error.reason === 'not_found') {
      return answerEnded(step, await findPendingStatus(market, call.cookies));
    }
    const refused = { status: statusOf(error), headers: retryHeaders(error), faults: [explainRefusal(error)] };
    return answerConfirmAgain(step, pending, refused);
  }
}

function findFaults({ market, call }: Step, { change, cookie }: OpenChange): Fault[] {
  const { form } = call;
  const faults = faultsOfSecretConfirmation(market, { form, change, identity: cookie });
  const handle = form['handle']?.trim();
  if (handle === undefined || new RegExp(HANDLE_PATTERN).test(handle)) return faults;
  return [{ field: 'handle', message: `This cannot be a handle. ${HANDLE_HINT}` }, ...faults];
}

async function confirmChange({ market, keyPage, call }: Step, { cookie }: OpenChange): Promise<Confirmed> {
  const { form, clientNetwork } = call;
  const key = (form['merchant_key'] ?? '').trim();
  return await keyPage.confirm(market, { ...cookie, handle: form['handle']?.trim(), key, clientNetwork });
}

/** Keeps the cookie, so that another tab or a resent form learns that the change is confirmed. */
async function answerDone({ market, catalog, keyPage }: Step, confirmed: Confirmed): Promise<PageAnswer> {
  // The change is committed. If this refresh fails, the catalog catches up later.
  await catalog.fresh().catch((error: unknown) => market.log.warn('catalog_behind', { error }));
  const main = renderDone(keyPage, confirmed);
  return answerKeyPage(market.random, { title: keyPage.words.doneTitle, main, path: keyPage.path });
}

function answerEnded({ market, keyPage, token }: Step, pending: PendingStatus): PageAnswer {
  const isOwnEnd = pending.is !== 'none' && pending.is !== 'open' && pending.change.kind === keyPage.kind;
  const notice = isOwnEnd ? noticeOfEnd(pending, keyPage) : NOTHING_BEGUN;
  return answerBegin(market, keyPage, { token, notice, status: 409 });
}

interface Refused {
  faults: readonly Fault[];
  status: number;
  headers?: Readonly<Record<string, string>>;
}

function answerConfirmAgain(
  { market, keyPage, call, token }: Step,
  pending: OpenChange,
  { faults, status, headers = {} }: Refused,
): PageAnswer {
  // Ask for another handle once the pending one has been taken, and on every later try.
  const typed = call.form['handle'];
  const handle = typed ?? (faults.some(({ field }) => field === 'handle') ? '' : null);
  const main = renderConfirmAgain(keyPage, { token: token.value, pending, faults, handle });
  return answerKeyPage(market.random, { title: 'Not confirmed', main, path: keyPage.path, status, headers });
}
