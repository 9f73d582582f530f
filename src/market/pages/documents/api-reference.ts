import { readFileSync } from 'node:fs';
import type { Auth, EndpointShape } from '../../../contract/endpoint.ts';
import { ERRORS, type ErrorRow, errorClass, REASONS, type Reason, type Retry } from '../../../contract/errors.ts';
import { type EndpointName, endpoints } from '../../../contract/index.ts';
import type { Network } from '../../../contract/networks.ts';
import { describeOpenApi, type OperationExample } from '../../../contract/openapi.ts';
import { describeRefusals } from '../../../contract/openapi-answers.ts';
import { MARKET_TAGS, MARKET_TEXTS } from '../../../contract/openapi-texts.ts';
import { descriptionOf } from '../../../contract/tool-arguments.ts';
import { EVENT_KINDS, SCOPES } from '../../../contract/vocabulary.ts';
import type { PageAnswer } from '../../../platform/http/server-options.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { secretPattern } from '../../../platform/secrets.ts';
import { STREAM_PATH } from '../../events/stream/mount-event-stream.ts';
import { type Block, type Document, heading, list, SUMMARY, text } from '../../guide/guide.ts';
import { CONNECT_PATH, MCP_PATH } from '../../guide/mcp-server.ts';
import { answerDocument } from '../answer-document.ts';

const RETRIES: Readonly<Record<Retry, string>> = {
  same_request: 'Send the same request again.',
  same_proof: 'Send the same request again with the same payment proof, never with another.',
  after_fix: 'First do what is said above. Until then, the same request would be refused again.',
  never: 'Do not send the same request again.',
};

export function errorIndex(accept: string | undefined): PageAnswer {
  const json = { errors: REASONS.map(errorJson) };
  return answerDocument(accept, { document: errorIndexDocument(), json, path: '/docs/errors' });
}

export function errorPage(accept: string | undefined, reason: string): PageAnswer {
  if (!isReason(reason)) throw new Refusal('not_found', { detail: 'No refusal has that reason.' });
  return answerDocument(accept, { document: errorPageDocument(reason), json: errorJson(reason) });
}

function isReason(text: string): text is Reason {
  return Object.hasOwn(ERRORS, text);
}

function errorIndexDocument(): Document {
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

function errorPageDocument(reason: Reason): Document {
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
    ...(row.of_proof === undefined
      ? []
      : [`For an x402 proof: status ${row.of_proof.status}. ${row.of_proof.title}. ${row.of_proof.next_step}`]),
  ];
}

function payingAgain(row: ErrorRow): string {
  if (row.do_not_pay_again === undefined) return 'see `do_not_pay_again` in the answer.';
  return row.do_not_pay_again
    ? '`do_not_pay_again: true`. A payment may exist, so do not make another.'
    : '`do_not_pay_again: false`, unless the answer says otherwise.';
}

/** Lists the endpoints that declare the reason. Reasons of the transport and the secret guard can come from any endpoint. */
function routesOf(reason: Reason): string[] {
  return ENDPOINTS.filter(({ errors }) => errors.includes(reason)).map(({ method, path }) => `${method} ${path}`);
}

function errorJson(reason: Reason) {
  const row: ErrorRow = ERRORS[reason];
  return { reason, error_class: errorClass(row.status), ...row, routes: routesOf(reason) };
}

/** Describes the event stream, which is not in the contract because its response has no end and no schema. */
const streamOperation = (example: unknown) => ({
  get: {
    operationId: 'streamEvents',
    tags: ['Market' satisfies keyof typeof MARKET_TAGS],
    summary: 'The public log as server-sent events, as they happen.',
    description:
      'Each message has the number of its event as id, and the event as data. Resumed by Last-Event-ID, or by last_event_id. Public.',
    security: [],
    parameters: [
      streamParameter('kind', 'query', { type: 'string', enum: EVENT_KINDS }),
      streamParameter('scope', 'query', { type: 'string', enum: SCOPES }),
      streamParameter('last_event_id', 'query', { type: 'integer', minimum: 0 }),
      streamParameter('Last-Event-ID', 'header', { type: 'integer', minimum: 0 }),
    ],
    responses: {
      200: {
        description: 'Goes on for as long as the client listens.',
        content: { 'text/event-stream': { schema: { type: 'string' }, example } },
      },
      ...describeRefusals(STREAM_REASONS),
    },
  },
});

const STREAM_REASONS: readonly Reason[] = [
  ...(['malformed_request', 'secret_in_payload', 'invalid_query', 'unexpected_fields', 'cursor_invalid'] as const),
  ...(['headers_too_large', 'rate_limited', 'unavailable', 'history_lost', 'internal_error'] as const),
];

function streamParameter(name: string, place: 'query' | 'header', schema: object) {
  return { name, in: place, required: false, description: descriptionOf('streamEvents', name), schema };
}

/** Generated by `npm run examples`. */
const EXAMPLES = new URL('./openapi-examples.json', import.meta.url);
type MarketExamples = Partial<Record<EndpointName | 'streamEvents', OperationExample>>;

type ApiFacts = Readonly<{ baseUrl: string; network: Network }>;

/** Renders the document once, because the contract does not change while a process runs. */
export function createOpenApiPage(market: ApiFacts): () => PageAnswer {
  let body: string | null = null;
  return () => {
    body ??= openApiText(market);
    return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body };
  };
}

const KEY_DESCRIPTION = `Its form is ${secretPattern('sk', '<prefix>')}; patterns.key of GET /api/official has the prefix. POST /api/register shows a new one, once, and so does the page /join.`;
const LENGTHS_NOTE = 'Lengths of texts are counted in characters after normalization (NFC).';

export function openApiText({ baseUrl, network }: ApiFacts): string {
  const tools = `The same as tools over MCP: ${baseUrl}${MCP_PATH}, and ${baseUrl}${CONNECT_PATH} for hosts that sign in by OAuth.`;
  const description = `${SUMMARY} ${tools} ${LENGTHS_NOTE}`;
  const examples = JSON.parse(readFileSync(EXAMPLES, 'utf8')) as MarketExamples;
  const document = describeOpenApi({
    ...{ endpoints, texts: MARKET_TEXTS, tags: MARKET_TAGS, examples },
    ...{ title: 'Openaisle', description, serverUrl: baseUrl, key: KEY_DESCRIPTION, network },
  });
  return JSON.stringify({
    ...document,
    paths: { ...document.paths, [STREAM_PATH]: streamOperation(examples.streamEvents?.answers['200']) },
  });
}

export const KEY_USE: Readonly<Record<Auth, string>> = {
  audit: 'open, never reads a key',
  public: 'open',
  optional_key: 'open; with a key it is done in your name',
  staged_key: 'the door judges your key itself',
  key: 'needs your key',
  maintainer: 'the maintainer only',
};

/** Derived from the contract, so that the list is always complete. */
export const ENDPOINTS: readonly EndpointShape[] = Object.values(endpoints);

export function endpointLines(): string[] {
  return ENDPOINTS.map(({ method, path, summary, auth }) => `\`${method} ${path}\` ${summary} (${KEY_USE[auth]})`);
}
