import { html } from 'ghtml';
import { cityEndpoints } from '../../contract/city/endpoints.ts';
import type { EndpointShape } from '../../contract/endpoint.ts';
import { requestErrors } from '../../contract/errors/request-errors.ts';
import { ERRORS, type ErrorRow, errorClass, REASONS, type Reason } from '../../contract/errors.ts';
import { reasonsOf } from '../../contract/reasons-of.ts';
import type { PageAnswer } from '../../platform/http/server-options.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { City } from '../context.ts';
import { answerBoth } from './answer-both.ts';
import { renderFacts } from './render-parts.ts';

const ENDPOINTS: readonly EndpointShape[] = Object.values(cityEndpoints);

/** Each with the routes that name it. What is wrong with a request by itself may come from any. */
const ROUTES: ReadonlyMap<Reason, readonly string[]> = new Map(
  REASONS.map((reason) => [
    reason,
    ENDPOINTS.filter((endpoint) => reasonsOf(endpoint).includes(reason)).map(({ method, path }) => `${method} ${path}`),
  ]),
);

/** What this city can answer, in the order of the table. */
export const CITY_REASONS: readonly Reason[] = REASONS.filter(
  (reason) => Object.hasOwn(requestErrors, reason) || (ROUTES.get(reason)?.length ?? 0) > 0,
);

export function errorIndex(city: City, accept: string | undefined): PageAnswer {
  const lines = CITY_REASONS.map(
    (reason) => html`<li><a href="/docs/errors/${reason}">${reason}</a> ${ERRORS[reason].title}.</li>`,
  );
  const main = html`<h1>Refusals</h1>
<p class="summary">Every reason that this city gives for a refusal. A reason keeps its name and its meaning.</p>
<ul>!${lines}</ul>`;
  return answerBoth(city, accept, { page: { title: 'Refusals', main }, json: { errors: CITY_REASONS.map(toJson) } });
}

export function errorPage(city: City, accept: string | undefined, name: string): PageAnswer {
  const reason = CITY_REASONS.find((one) => one === name);
  if (reason === undefined) throw new Refusal('not_found', { detail: 'No refusal has that reason.' });
  const row: ErrorRow = ERRORS[reason];
  const routes = ROUTES.get(reason) ?? [];
  const main = html`<h1>${reason}</h1>
<p class="summary">${row.title}.</p>
!${renderFacts([
    ['Status', html`${row.status}, <code>${errorClass(row.status)}</code>`],
    ['What to do', html`${row.next_step}`],
    ['Retry', html`<code>${row.retry}</code>`],
    ['Paying again', payingAgain(row)],
  ])}
!${routes.length === 0 ? '' : html`<h2>Given by</h2><ul>!${routes.map((route) => html`<li><code>${route}</code></li>`)}</ul>`}`;
  return answerBoth(city, accept, { page: { title: reason, main }, json: toJson(reason) });
}

function payingAgain({ do_not_pay_again: doNot }: ErrorRow): string {
  if (doNot === undefined)
    return html`This says nothing about payments; go by <code>do_not_pay_again</code> of the answer.`;
  return doNot
    ? 'A payment may exist: make no other.'
    : 'No payment was made by this, unless the answer says otherwise.';
}

function toJson(reason: Reason) {
  const row: ErrorRow = ERRORS[reason];
  return { reason, error_class: errorClass(row.status), ...row, routes: ROUTES.get(reason) };
}
