import { html } from 'ghtml';
import { HANDLE_PATTERN } from '../../../contract/identity.ts';
import type { FormCall, PageAnswer } from '../../../platform/http/server-options.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import { cancelStage } from '../../identity/stages/stages.ts';
import { takeNetworkQuota } from '../../limits/quotas.ts';
import { explainRefusal, retryHeaders, statusOf } from '../refusals.ts';
import type { Ceremony, Confirmed, Fault, Form, Shown } from './ceremony.ts';
import { faultsOfTypedBack, TYPED_BACK_FIELDS } from './fields.ts';
import { HANDLE_HINT } from './join.ts';
import { answerBegin, answerBegun, answerClosed, answerHtml } from './open-ceremony.ts';
import {
  type Notice,
  noticeOfOver,
  renderAgain,
  renderConfirm,
  renderDone,
  renderMessage,
  renderTime,
} from './render-stage.ts';
import {
  type CeremonyDependencies,
  clearStageCookie,
  findStageStatus,
  formToken,
  isFromElsewhere,
  isOfEarlier,
  isOwnToken,
  type OpenStage,
  type StageCookie,
  type StageStatus,
  type Step,
  setStageCookie,
} from './stage-session.ts';

const OUT_OF_DATE: Notice = {
  tone: 'warn',
  title: 'This form was out of date',
  text: 'Nothing was done. Send it again from here. If that does not help, let your browser keep the cookies of this site.',
};

/** POST: one step of a ceremony, taken only from a page that this market gave to this browser. */
export async function takeForm(
  market: Market,
  dependencies: CeremonyDependencies,
  ceremony: Ceremony,
  call: FormCall,
): Promise<PageAnswer> {
  const { form, cookies, sentFrom } = call;
  if (isFromElsewhere(sentFrom, market.config.baseUrl)) return answerElsewhere(market, ceremony);
  if (!market.config.openIdentityEndpoints.has(ceremony.door)) return answerClosed(market, ceremony);
  const token = formToken(market.random, ceremony.path, cookies);
  const stageStatus = await findStageStatus(market, cookies);
  const step = { market, dependencies, ceremony, call, token, stageStatus };
  if (!isOwnToken(call, ceremony.path)) return answerOutOfDate(step);
  switch (form['action']) {
    case 'confirm':
      return await confirmStage(step);
    case 'cancel':
      return await cancel(step);
    default:
      return await begin(step);
  }
}

/** Nothing of what was sent is shown: another site may have filled it in. */
function answerElsewhere({ random }: Market, { path, words }: Ceremony): PageAnswer {
  return answerHtml(random, {
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

function answerOutOfDate({ market, dependencies, ceremony, call, token, stageStatus }: Step): PageAnswer {
  const begun = answerBegun(market, dependencies, ceremony, { cookies: call.cookies, stageStatus, status: 403 });
  if (begun !== null) return begun;
  const isOurs = call.sentFrom.site === 'same-origin';
  const typed = isOurs ? typedOf(ceremony, call.form) : {};
  return answerBegin(market, ceremony, { token, typed, notice: OUT_OF_DATE, status: 403 });
}

async function begin({ market, dependencies, ceremony, call, token, stageStatus }: Step): Promise<PageAnswer> {
  const { form, cookies, clientNetwork } = call;
  const begun = answerBegun(market, dependencies, ceremony, { cookies, stageStatus, status: 409 });
  if (begun !== null) return begun;
  const typed = typedOf(ceremony, form);
  const faults = ceremony.check(form);
  if (faults.length > 0) return answerBegin(market, ceremony, { token, typed, faults, status: 422 });
  try {
    const shown = await ceremony.begin(market, form, clientNetwork);
    const cookie: StageCookie = { kind: ceremony.kind, session: shown.session, csrf: shown.csrf };
    const main = renderShown(ceremony, { token: token.value, cookie, shown, baseUrl: market.config.baseUrl });
    return answerHtml(market.random, {
      title: 'Save this now',
      ...{ main, path: ceremony.path, cookie: setStageCookie(cookie) },
    });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const refused = { status: statusOf(error), headers: retryHeaders(error), faults: [explainRefusal(error)] };
    return answerBegin(market, ceremony, { token, typed, ...refused });
  }
}

async function cancel({ market, ceremony, call, token, stageStatus }: Step): Promise<PageAnswer> {
  const isOwn = stageStatus.is !== 'none' && stageStatus.of.kind === ceremony.kind;
  if (!isOwn || isOfEarlier(call.form, stageStatus.cookie)) {
    const notice: Notice = { tone: 'warn', title: 'Nothing to cancel', text: 'Nothing is begun here in this browser.' };
    return answerBegin(market, ceremony, { token, notice, status: 409 });
  }
  if (stageStatus.is === 'open') await cancelStage(market, ceremony.kind, stageStatus.cookie);
  const over = stageStatus.is === 'open' ? { ...stageStatus, is: 'canceled' as const } : stageStatus;
  const cookie = over.is === 'confirmed' ? null : clearStageCookie();
  const status = over.is === 'confirmed' ? 409 : 200;
  return answerBegin(market, ceremony, { token, notice: noticeOfOver(over, ceremony), status, cookie });
}

/** What may be shown again of what was typed: no secret, and none of our own fields. */
function typedOf({ secretFields }: Ceremony, form: Form): Form {
  const kept = Object.entries(form).filter(
    ([name]) => !secretFields.includes(name) && !TYPED_BACK_FIELDS.includes(name),
  );
  return Object.fromEntries(kept);
}

interface ShownPage {
  token: string;
  cookie: StageCookie;
  shown: Shown;
  baseUrl: string;
}

/** The only page on which key and codes ever stand. */
function renderShown(ceremony: Ceremony, { token, cookie, shown, baseUrl }: ShownPage): string {
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
<p data-secret><a class="button" download="openaisle-${shown.handle}.txt" href="${fileOf(ceremony, shown, baseUrl)}">Download as a text file</a></p>
<p id="said" class="state" role="status"></p>
<h2>Type it back</h2>
<p>Before !${renderTime(new Date(shown.expires_at))}, from where you saved it. Until then nothing is in force.</p>
!${renderConfirm(ceremony, form)}`;
}

function renderCodes(codes: readonly string[]): string {
  const line = (code: string, index: number): string => html`<li><code id="code-${index + 1}">${code}</code></li>`;
  return html`<section class="shown" data-secret>
<h2 id="codes-name">Eight recovery codes</h2>
<ol class="codes" id="codes" aria-labelledby="codes-name">!${codes.map(line)}</ol>
<div class="row"><button type="button" data-copy="codes" hidden aria-describedby="codes-name">Copy the codes</button></div>
</section>`;
}

/** In the page itself, so that it can be kept without a script and without being asked for again. */
function fileOf({ path }: Ceremony, shown: Shown, baseUrl: string): string {
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

const EARLIER: Fault = {
  field: null,
  message: 'That page was of an earlier beginning, which is worth nothing now. What is asked for here was shown later.',
};

/** The second step: what was shown is typed back, and comes into force. Every try counts, wrong ones too. */
async function confirmStage(step: Step): Promise<PageAnswer> {
  const { market, ceremony, call, stageStatus } = step;
  if (stageStatus.is !== 'open' || stageStatus.of.kind !== ceremony.kind) return answerOver(step, stageStatus);
  if (isOfEarlier(call.form, stageStatus.cookie))
    return answerAgain(step, stageStatus, { faults: [EARLIER], status: 409 });
  try {
    const faults = faultsOf(step, stageStatus);
    if (faults.length > 0) {
      await takeNetworkQuota(market, 'confirm_per_ip_hour', call.clientNetwork);
      return answerAgain(step, stageStatus, { faults, status: 422 });
    }
    return await answerDone(step, await confirm(step, stageStatus));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.reason === 'stage_closed' || error.reason === 'not_found') {
      return answerOver(step, await findStageStatus(market, call.cookies));
    }
    const refused = { status: statusOf(error), headers: retryHeaders(error), faults: [explainRefusal(error)] };
    return answerAgain(step, stageStatus, refused);
  }
}

function faultsOf({ market, call }: Step, { of, cookie }: OpenStage): Fault[] {
  const { form } = call;
  const faults = faultsOfTypedBack(market, { form, of, identity: cookie });
  const handle = form['handle']?.trim();
  if (handle === undefined || new RegExp(HANDLE_PATTERN).test(handle)) return faults;
  return [{ field: 'handle', message: `This cannot be a handle. ${HANDLE_HINT}` }, ...faults];
}

async function confirm({ market, ceremony, call }: Step, { cookie }: OpenStage): Promise<Confirmed> {
  const { form, clientNetwork } = call;
  const key = (form['merchant_key'] ?? '').trim();
  return await ceremony.confirm(market, { ...cookie, handle: form['handle']?.trim(), key, clientNetwork });
}

/** The cookie stays for its hour, so that another tab, or this one once more, hears that all is done. */
async function answerDone({ market, dependencies, ceremony }: Step, confirmed: Confirmed): Promise<PageAnswer> {
  // The act is done, whatever becomes of the copy: it follows by itself as soon as it can.
  await dependencies.catalog.fresh().catch((error: unknown) => market.log.warn('catalog_behind', { error }));
  const main = renderDone(ceremony, confirmed);
  return answerHtml(market.random, { title: ceremony.words.doneTitle, main, path: ceremony.path });
}

function answerOver({ market, ceremony, token }: Step, stageStatus: StageStatus): PageAnswer {
  const isOwnEnd = stageStatus.is !== 'none' && stageStatus.is !== 'open' && stageStatus.of.kind === ceremony.kind;
  const notice = isOwnEnd ? noticeOfOver(stageStatus, ceremony) : NOTHING_BEGUN;
  return answerBegin(market, ceremony, { token, notice, status: 409 });
}

interface Refused {
  faults: readonly Fault[];
  status: number;
  headers?: Readonly<Record<string, string>>;
}

function answerAgain(
  { market, ceremony, call, token }: Step,
  stageStatus: OpenStage,
  { faults, status, headers = {} }: Refused,
): PageAnswer {
  // Asked for once the staged one turned out to be taken, and from then on.
  const typed = call.form['handle'];
  const handle = typed ?? (faults.some(({ field }) => field === 'handle') ? '' : null);
  const main = renderAgain(ceremony, { token: token.value, stageStatus, faults, handle });
  return answerHtml(market.random, { title: 'Not confirmed', main, path: ceremony.path, status, headers });
}
