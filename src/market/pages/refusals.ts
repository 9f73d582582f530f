import { html } from 'ghtml';
import { type ErrorClass, errorClass, type Problem, type Reason } from '../../contract/errors.ts';
import type { Incoming, Outgoing } from '../../platform/http/message.ts';
import type { RefusedPage, RefusedRequest } from '../../platform/http/server-options.ts';
import type { Refusal } from '../../platform/refusal.ts';
import type { ShowFault } from '../connect/show-fault.ts';
import type { Market } from '../context.ts';
import { type Block, heading, list, text } from '../guide/guide.ts';
import { chooseForm, HTML_HEADERS, renderHtml } from './answer-document.ts';
import { answerConnectMessage } from './connect/answer-connect.ts';
import type { Fault } from './key-page/key-page.ts';
import { renderShell } from './shell/render-shell.ts';
import type { PagePlan, Shown } from './storefront/page-plan.ts';

const CLASS_SUMMARIES: Readonly<Record<ErrorClass, string>> = {
  bad_input: 'The market could not read what was asked for as a question of its own. Nothing was changed.',
  auth_required: 'This is shown only with the key of the store. Nothing was changed.',
  payment_required: 'This is handed over once it is paid. Nothing was taken.',
  forbidden: 'This is not yours to do. Nothing was changed.',
  not_found: 'The address may be mistyped, or what stood here is gone. It is not known to this market now.',
  conflict: 'Things stand otherwise than the request took for granted. Nothing was changed.',
  rate_limited: 'There were too many requests of this kind in a short time. Nothing was changed.',
  market_fault:
    'The fault is on our side. It shows neither that something was paid nor that nothing was: make no payment because of it.',
};

/** Replaces next steps of the error table that are worded for programs. */
const NEXT_STEPS: Readonly<Partial<Record<Reason, string>>> = {
  not_found: 'Check the address, or begin at the front page.',
  method_not_allowed: 'Go back and begin again on the page that you came from.',
  unavailable: 'Wait a little, then load the page again.',
  internal_error: 'Load the page again. If it stays so, report the request below to the operator.',
};

/**
 * Renders a refusal from the error table, without any text of the request or the thrown error. Null for programs and API routes, which get
 * a problem document.
 */
export function refusedPage({ reason, row, options }: Refusal, request: RefusedRequest): RefusedPage | null {
  if (chooseForm(request.accept) !== 'html' || request.route?.startsWith('/api/')) return null;
  const body = renderHtml({
    title: row.title,
    summary: CLASS_SUMMARIES[errorClass(row.status)],
    blocks: [
      heading('What to do'),
      ...nextSteps(NEXT_STEPS[reason] ?? row.next_step, options.retryAfterSeconds),
      ...(row.do_not_pay_again === true ? [text('If you have paid, do not pay again.')] : []),
      list([
        '[The front page](/) says what is here, [Help](/help) how it is done.',
        '[Support](/support) has one next step for each kind of trouble.',
      ]),
      heading('For the operator'),
      list([`Status ${row.status}, reason [${reason}](/docs/errors/${reason})`, `Request \`${request.requestId}\``]),
    ],
  });
  return { headers: HTML_HEADERS, body };
}

function nextSteps(nextStep: string, retryAfterSeconds: number | undefined): Block[] {
  if (retryAfterSeconds === undefined) return [text(nextStep)];
  return [text(`${nextStep} It may work again in ${formatWait(retryAfterSeconds)}.`)];
}

/** Renders a route's refusal as a page for browsers, with the same status. Programs get the problem document. */
export function answerRefusal(outgoing: Outgoing, { headers: { accept } }: Incoming, plan?: Surroundings): Outgoing {
  if (typeof outgoing.body !== 'string') return outgoing;
  const { headers, ...rest } = chooseForm(accept) === 'html' ? answerRefusedPage(outgoing, plan) : outgoing;
  return { ...rest, headers: { ...headers, vary: 'accept' } };
}

type Surroundings = Pick<PagePlan, 'back' | 'again' | 'styles'>;
const DEFAULT_SURROUNDINGS: Surroundings = { back: { path: '/shelves', name: 'All shelves' } };

/** Renders a route's refusal as a page with the same status and headers. */
export function answerRefusedPage(outgoing: Outgoing, plan: Surroundings = DEFAULT_SURROUNDINGS): Outgoing {
  const { headers, body } = outgoing;
  if (typeof body !== 'string') return outgoing;
  const page = renderShell(showRefusal(JSON.parse(body) as Problem, plan));
  return { ...outgoing, headers: { ...headers, ...HTML_HEADERS }, body: page };
}

function showRefusal(problem: Problem, plan: Surroundings): Shown {
  const { title, detail, reason, errors = [] } = problem;
  return {
    title: `${title} - Openaisle`,
    styles: plan.styles ?? [],
    main: html`<div>
<h1>${title}</h1>
<p class="summary">${detail === title ? problem.next_step : detail}</p>
!${errors.length === 0 ? '' : html`<ul>!${errors.map(({ path, message }) => html`<li>${FIELD_NAMES[path] ?? path} ${message}</li>`)}</ul>`}
!${plan.again?.(problem) ?? ''}
<p><a class="button" href="${plan.back.path}">${plan.back.name}</a></p>
<p class="quiet">Nothing was changed. The reason is called <a href="/docs/errors/${reason}">${reason}</a>.</p>
</div>`,
  };
}

const FIELD_NAMES: Readonly<Record<string, string>> = {
  max_price_usdc: 'The highest price',
  q: 'What is searched for',
  sort: 'The order',
  free: 'Free or not',
  tag: 'The tag',
  cursor: 'The place in the list',
  before_id: 'The place in the list',
  after_id: 'The place in the list',
  comments_after_id: 'The place among the comments',
  id: 'The number of the listing',
  handle: 'The name of the store',
};

const LONGEST_IN_SECONDS = 90;

const FAULTS: Readonly<Record<string, Fault>> = {
  key_required: { field: 'merchant_key', message: 'Type or paste the key.' },
  key_invalid: {
    field: 'merchant_key',
    message: 'This key is not valid. Use the newest key that you saved. If you have lost it, use a recovery code.',
  },
  secret_in_payload: {
    field: null,
    message: 'A key or a code was in the wrong field. It was not stored. If others may have seen it, replace it.',
  },
  recovery_code_refused: {
    field: 'recovery_code',
    message: 'This code is not valid. Codes that were replaced or used, or that are not active yet, do not work.',
  },
};

/** Explains a refusal to people, next to the field that it is about, if any. */
export function explainRefusal({ reason, row, options }: Refusal): Fault {
  if (reason === 'rate_limited') {
    const wait = formatWait(options.retryAfterSeconds ?? 1);
    return { field: null, message: `Too many attempts. Wait ${wait}, then send this again.` };
  }
  if (reason === 'handle_taken' || reason === 'handle_reserved')
    return { field: 'handle', message: `${options.detail ?? `${row.title}.`} Choose another.` };
  return FAULTS[reason] ?? { field: null, message: `${row.title}. ${row.next_step}` };
}

function formatWait(seconds: number): string {
  const whole = Math.max(1, Math.ceil(seconds));
  if (whole <= LONGEST_IN_SECONDS) return whole === 1 ? '1 second' : `${whole} seconds`;
  return `${Math.ceil(whole / 60)} minutes`;
}

/** Returns the status of a page that shows the refusal. A 401 would make browsers ask for credentials, which no page accepts. */
export function statusOf({ row }: Refusal): number {
  return row.status === 401 ? 403 : row.status;
}

export function retryHeaders({ options }: Refusal): Record<string, string> {
  const seconds = options.retryAfterSeconds;
  return seconds === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(seconds))) };
}

export function showConnectFault({ random }: Pick<Market, 'random'>): ShowFault {
  return (fault) => answerConnectMessage(random, { ...fault, before: 'How a program is connected stands at ' });
}
