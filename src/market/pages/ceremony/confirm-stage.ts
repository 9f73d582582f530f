import { HANDLE_PATTERN } from '../../../contract/identity.ts';
import type { PageAnswer } from '../../../platform/http/server-options.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { takeNetworkQuota } from '../../limits/quotas.ts';
import { answerHtml } from './answer-html.ts';
import type { Confirmed, Fault } from './ceremony.ts';
import { explainRefusal, retryHeaders, statusOf } from './explain-refusal.ts';
import { findStanding, type OpenStanding, type Standing } from './find-standing.ts';
import { HANDLE_HINT } from './join.ts';
import { answerBegin } from './open-ceremony.ts';
import { renderAgain } from './render-again.ts';
import { renderDone } from './render-end.ts';
import { type Notice, noticeOfOver } from './render-parts.ts';
import { isOfEarlier, type Step } from './step.ts';
import { faultsOfTypedBack } from './typed-back.ts';

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
export async function confirmStage(step: Step): Promise<PageAnswer> {
  const { market, ceremony, call, standing } = step;
  if (standing.is !== 'open' || standing.of.kind !== ceremony.kind) return answerOver(step, standing);
  if (isOfEarlier(call.form, standing.cookie)) return answerAgain(step, standing, { faults: [EARLIER], status: 409 });
  try {
    const faults = faultsOf(step, standing);
    if (faults.length > 0) {
      await takeNetworkQuota(market, 'confirm_per_ip_hour', call.clientNetwork);
      return answerAgain(step, standing, { faults, status: 422 });
    }
    return await answerDone(step, await confirm(step, standing));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.reason === 'stage_closed' || error.reason === 'not_found') {
      return answerOver(step, await findStanding(market, call.cookies));
    }
    const refused = { status: statusOf(error), headers: retryHeaders(error), faults: [explainRefusal(error)] };
    return answerAgain(step, standing, refused);
  }
}

function faultsOf({ market, call }: Step, { of, cookie }: OpenStanding): Fault[] {
  const { form } = call;
  const faults = faultsOfTypedBack(market, { form, of, identity: cookie });
  const handle = form['handle']?.trim();
  if (handle === undefined || new RegExp(HANDLE_PATTERN).test(handle)) return faults;
  return [{ field: 'handle', message: `This cannot be a handle. ${HANDLE_HINT}` }, ...faults];
}

async function confirm({ market, ceremony, call }: Step, { cookie }: OpenStanding): Promise<Confirmed> {
  const { form, clientNetwork } = call;
  const key = (form['merchant_key'] ?? '').trim();
  return await ceremony.confirm(market, { ...cookie, handle: form['handle']?.trim(), key, clientNetwork });
}

/** The cookie stays for its hour, so that another tab, or this one once more, hears that all is done. */
async function answerDone({ market, parts, ceremony }: Step, confirmed: Confirmed): Promise<PageAnswer> {
  // The act is done, whatever becomes of the copy: it follows by itself as soon as it can.
  await parts.catalog.fresh().catch((error: unknown) => market.log.warn('catalog_behind', { error }));
  const main = renderDone(ceremony, confirmed);
  return answerHtml(market.random, { title: ceremony.words.doneTitle, main, path: ceremony.path });
}

function answerOver({ market, ceremony, token }: Step, standing: Standing): PageAnswer {
  const isOwnEnd = standing.is !== 'none' && standing.is !== 'open' && standing.of.kind === ceremony.kind;
  const notice = isOwnEnd ? noticeOfOver(standing, ceremony) : NOTHING_BEGUN;
  return answerBegin(market, ceremony, { token, notice, status: 409 });
}

interface Refused {
  faults: readonly Fault[];
  status: number;
  headers?: Readonly<Record<string, string>>;
}

function answerAgain(
  { market, ceremony, call, token }: Step,
  standing: OpenStanding,
  { faults, status, headers = {} }: Refused,
): PageAnswer {
  // Asked for once the staged one turned out to be taken, and from then on.
  const typed = call.form['handle'];
  const handle = typed ?? (faults.some(({ field }) => field === 'handle') ? '' : null);
  const main = renderAgain(ceremony, { token: token.value, standing, faults, handle });
  return answerHtml(market.random, { title: 'Not confirmed', main, path: ceremony.path, status, headers });
}
