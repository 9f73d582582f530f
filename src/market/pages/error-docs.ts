import { ERRORS, type ErrorRow, errorClass, REASONS, type Reason, type Retry } from '../../contract/errors.ts';
import type { PageAnswer } from '../../platform/http/server-options.ts';
import { Refusal } from '../../platform/refusal.ts';
import { type Block, type Document, heading, list, text } from '../guide/document.ts';
import { answerDocument } from './answer-document.ts';
import { ENDPOINTS } from './endpoint-lines.ts';

const RETRIES: Readonly<Record<Retry, string>> = {
  same_request: 'Send the same request again.',
  same_proof: 'Send the same request again with the same payment proof, and no other.',
  after_fix: 'Change the request first; the same one would be refused again.',
  never: 'Do not send it again.',
};

export function errorIndex(accept: string | undefined): PageAnswer {
  const json = { errors: REASONS.map(toJson) };
  return answerDocument(accept, { document: indexDocument(), json, path: '/docs/errors' });
}

export function errorPage(accept: string | undefined, reason: string): PageAnswer {
  if (!isReason(reason)) throw new Refusal('not_found', { detail: 'No refusal has that reason.' });
  return answerDocument(accept, { document: pageDocument(reason), json: toJson(reason) });
}

function isReason(text: string): text is Reason {
  return Object.hasOwn(ERRORS, text);
}

function indexDocument(): Document {
  const statuses = [...new Set(REASONS.map((reason) => ERRORS[reason].status))].sort((a, b) => a - b);
  const line = (reason: Reason): string => `[${reason}](/docs/errors/${reason}): ${ERRORS[reason].title}.`;
  const group = (status: ErrorRow['status']): Block[] => [
    heading(`${status} ${errorClass(status)}`),
    list(REASONS.filter((reason) => ERRORS[reason].status === status).map(line)),
  ];
  return {
    title: 'Refusals',
    summary: 'Every reason that this service gives for a refusal. A reason keeps its name and its meaning.',
    blocks: statuses.flatMap(group),
  };
}

function pageDocument(reason: Reason): Document {
  const routes = routesOf(reason);
  return {
    title: reason,
    summary: `${ERRORS[reason].title}.`,
    blocks: [
      list(factsOf(reason)),
      ...(routes.length > 0 ? [heading('Given by'), list(routes.map((route) => `\`${route}\``))] : []),
      text('All of them: [/docs/errors](/docs/errors). Where to begin: [/](/).'),
    ],
  };
}

export function factsOf(reason: Reason): string[] {
  const row: ErrorRow = ERRORS[reason];
  return [
    `Status: ${row.status}, error_class \`${errorClass(row.status)}\``,
    `What to do: ${row.next_step}`,
    `Retry: \`${row.retry}\`. ${RETRIES[row.retry]}`,
    `Paying again: ${payingAgain(row)}`,
  ];
}

function payingAgain(row: ErrorRow): string {
  if (row.do_not_pay_again === undefined)
    return 'this reason says nothing about payments; go by `do_not_pay_again` of the answer.';
  return row.do_not_pay_again
    ? '`do_not_pay_again: true`. A payment may exist: make no other.'
    : '`do_not_pay_again: false`, unless the answer itself says otherwise.';
}

/** Those that name it; the reasons of the transport and the guard may come from any. */
function routesOf(reason: Reason): string[] {
  return ENDPOINTS.filter(({ errors }) => errors.includes(reason)).map(({ method, path }) => `${method} ${path}`);
}

function toJson(reason: Reason) {
  const row: ErrorRow = ERRORS[reason];
  return { reason, error_class: errorClass(row.status), ...row, routes: routesOf(reason) };
}
