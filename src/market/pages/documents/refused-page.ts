import { type ErrorClass, errorClass, type Reason } from '../../../contract/errors.ts';
import type { RefusedPage, RefusedRequest } from '../../../platform/http/server-options.ts';
import type { Refusal } from '../../../platform/refusal.ts';
import { type Block, heading, list, text } from '../../guide/document.ts';
import { waitOf } from '../ceremony/explain-refusal.ts';
import { chooseForm } from '../choose-form.ts';
import { HTML_HEADERS, renderHtml } from '../render-html.ts';

/** What it means, in words for a person who followed a link or typed an address. */
const MEANINGS: Readonly<Record<ErrorClass, string>> = {
  bad_input: 'The market could not read what was asked for as a question of its own. Nothing was changed.',
  auth_required: 'This is shown to whoever has the key of the store only. Nothing was changed.',
  payment_required: 'This is handed over once it is paid. Nothing was taken.',
  forbidden: 'This is not yours to do. Nothing was changed.',
  not_found: 'The address may be mistyped, or what stood here is gone. It is not known to this market now.',
  conflict: 'Things stand otherwise than the request took for granted. Nothing was changed.',
  rate_limited: 'There were too many requests of this kind in a short time. Nothing was changed.',
  market_fault:
    'The fault is on our side. It shows neither that something was paid nor that nothing was: make no payment because of it.',
};

/** In place of the table's next step, where that speaks to programs. */
const NEXT_STEPS: Readonly<Partial<Record<Reason, string>>> = {
  not_found: 'Check the address, or begin at the front page.',
  method_not_allowed: 'Go back and begin again on the page that you came from.',
  unavailable: 'Wait a little, then load the page again.',
  internal_error: 'Load the page again. If it stays so, report the request below to the operator.',
};

/**
 * A refusal as people see it, made of the table of errors alone: nothing that was sent, and nothing that was thrown, is in it. Programs
 * get a problem, and so does every request to the API.
 */
export function refusedPage({ reason, row, options }: Refusal, request: RefusedRequest): RefusedPage | null {
  if (chooseForm(request.accept) !== 'html' || request.route?.startsWith('/api/')) return null;
  const body = renderHtml({
    title: row.title,
    summary: MEANINGS[errorClass(row.status)],
    blocks: [
      heading('What to do'),
      ...nextSteps(NEXT_STEPS[reason] ?? row.next_step, options.retryAfterSeconds),
      ...(row.do_not_pay_again === true ? [text('If you have paid, do not pay again.')] : []),
      list([
        '[The front page](/) says what is here, [Help](/help) how it is done.',
        '[Support](/support) has one next step for each kind of trouble.',
      ]),
      heading('For whoever looks into it'),
      list([`Status ${row.status}, reason [${reason}](/docs/errors/${reason})`, `Request \`${request.requestId}\``]),
    ],
  });
  return { headers: HTML_HEADERS, body };
}

function nextSteps(nextStep: string, retryAfterSeconds: number | undefined): Block[] {
  if (retryAfterSeconds === undefined) return [text(nextStep)];
  return [text(`${nextStep} It may work again in ${waitOf(retryAfterSeconds)}.`)];
}
