import { pino } from 'pino';
import { type Clock, isoTime, systemClock } from './clock.ts';

/** Structured log lines, one JSON object each. Prints only the fields in LOG_FIELDS and those that `createLog` is told to allow. */
export interface Log {
  info(event: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(event: string, fields?: Readonly<Record<string, unknown>>): void;
  /** Prints `fields.error` as name, message, code, stack and cause, with secrets removed. */
  error(event: string, fields?: Readonly<Record<string, unknown>>): void;
  with(fields: Readonly<Record<string, unknown>>): Log;
}

const REMOVED = '[removed]';
const LONGEST_SEARCHED = 65_536;

const HEADER_NAMES =
  'proxy-authorization|authorization|x-payment-response|x-payment|payment-signature|x-delivery-token|delivery_token|x-download-token|download_token|cookie';

/** Patterns of texts that look like secrets, with or without a valid checksum. Each takes linear time, because no repetition is nested. */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [
    new RegExp(`\\b(${HEADER_NAMES})(["']?\\s{0,8}[:=]\\s{0,8}["']?)(?:(?:Bearer|Basic)\\s{1,8})?[^\\s"',;}]+`, 'gi'),
    `$1$2${REMOVED}`,
  ],
  [/\b(Bearer|Basic)\s{1,8}[^\s"',;}]+/gi, `$1 ${REMOVED}`],
  [/[a-z][a-z0-9]{1,15}_(?:sk|rc|pc|dt)_[0-9a-z-]+/gi, REMOVED],
  // Password of a connection URL.
  [/:\/\/[^\s/@]{1,512}@/g, `://${REMOVED}@`],
  // A payment header is base64 of JSON, and `eyJ` encodes `{"`.
  [/eyJ[A-Za-z0-9+/_-]{16,}={0,2}/g, REMOVED],
  // A signature has 65 bytes, or 64 in the compact form. Hashes, row keys and addresses are shorter.
  [/(?:0x)?[0-9a-fA-F]{128,}/g, REMOVED],
  [/[A-Za-z0-9+_-]{120,}={0,2}/g, REMOVED],
];

// JSON does not escape these, but some log readers take them for a line end or a terminal command.
const INVISIBLE = /[\u007f-\u009f\u2028\u2029]/g;

// Fast path for most values: no pattern can match a text of these characters and this length.
const SAFE_TEXT = /^(?!.*eyJ)[A-Za-z0-9./-]{0,119}$/;

/** Removes everything from a text that could give access to a store, move money or break the line. */
export function redact(text: string): string {
  if (SAFE_TEXT.test(text)) return text;
  return SECRETS.reduce((rest, [pattern, by]) => rest.replace(pattern, by), text.slice(0, LONGEST_SEARCHED)).replace(
    INVISIBLE,
    '\ufffd',
  );
}

/** The only field names whose values are printed. Others are listed in `left_out`, so new data is printed only once it is added here. */
const LOG_FIELDS: ReadonlySet<string> = new Set([
  // Requests
  'request_id',
  'method',
  'route',
  'status',
  'ms',
  'aborted',
  'reason',
  'budget',
  'routes',
  'mcp',
  'tool',
  // Ids of the subject of a line
  'merchant_id',
  'listing_id',
  'payment_id',
  'attempt_id',
  'event_id',
  'purpose',
  'state',
  'stage',
  'from',
  'to',
  'outcome',
  'network',
  'tx_hash',
  'transaction_hash',
  'transmission',
  'payer',
  'block_number',
  'confirmations',
  // The process
  'error',
  'detail',
  'why',
  'path',
  'endpoint',
  'waited_ms',
  'signal',
  'step',
  'name',
  'count',
  'attempt',
  'host',
  'port',
  'url',
  'version',
  'commit',
  'migration',
  'pid',
]);

/** Events renamed in 0.2.0, keyed by the new name. For one version, lines also carry the former name as `former_event`. */
const FORMER_EVENTS: Readonly<Record<string, string>> = {
  cached_read_failed: 'memory_read_failed',
  catalog_change_prune_failed: 'changes_not_pruned',
  database_host_unreachable: 'database_host_not_asked',
  database_split_brain: 'database_split',
  event_backlog_check_failed: 'events_not_watched',
  event_backlog_read_failed: 'event_backlog_not_read',
  event_stream_failed: 'events_not_streamed',
  facilitator_unreachable_at_start: 'facilitator_silent_at_start',
  fingerprint_renewal_failed: 'shapes_not_renewed',
  fingerprints_renewed: 'shapes_renewed',
  key_use_not_recorded: 'key_use_not_noted',
  metrics_server_failed: 'text_server_failed',
  offer_state_changed: 'offer_moved',
  payment_batch_failed: 'batch_not_settled',
  payment_end_failed: 'payment_not_ended',
  reads_summary: 'reads',
  review_end_failed: 'review_not_ended',
  tool_list_degraded: 'tools_listed_without_a_database',
  transfer_search_failed: 'window_unreadable',
};

interface LogOptions {
  /** Default: standard output. */
  stream?: { write(line: string): void };
  clock?: Clock;
  /** Field names allowed in addition to LOG_FIELDS. */
  fields?: readonly string[];
  /** Texts from the configuration to remove wherever they appear: URLs that contain a key, a header value. */
  hide?: readonly string[];
}

const LONGEST_TEXT = 8_192;
const DEEPEST_CAUSE = 4;
const MAX_ITEMS = 50;

/** Writes one JSON object per line and removes secrets from every text. */
export function createLog(options: LogOptions = {}): Log {
  const clock = options.clock ?? systemClock;
  const cut = createRedactor(options.hide ?? []);
  const allowed = new Set([...LOG_FIELDS, ...(options.fields ?? [])]);
  const settings = {
    base: null,
    messageKey: 'event',
    timestamp: () => `,"time":"${isoTime(clock.now())}"`,
    formatters: { level: (level: string) => ({ level }) },
  };
  const out = options.stream
    ? pino(settings, options.stream)
    : pino(settings, pino.destination({ dest: 1, sync: true }));

  const bind = (bound: Readonly<Record<string, unknown>>): Log => {
    const write =
      (level: 'info' | 'warn' | 'error') =>
      (event: string, fields: Readonly<Record<string, unknown>> = {}): void => {
        const former = Object.hasOwn(FORMER_EVENTS, event) ? { former_event: FORMER_EVENTS[event] } : {};
        out[level]({ ...present({ ...bound, ...fields }, { allowed, cut }), ...former }, cut(event));
      };
    return {
      info: write('info'),
      warn: write('warn'),
      error: write('error'),
      with: (fields) => bind({ ...bound, ...fields }),
    };
  };
  return bind({});
}

interface Presented {
  allowed: ReadonlySet<string>;
  cut: Cut;
}

type Cut = (text: string) => string;

function createRedactor(hide: readonly string[]): Cut {
  const hidden = hide.filter((text) => text !== '');
  return (text) => {
    const safe = redact(hidden.reduce((rest, secret) => rest.replaceAll(secret, '[removed]'), text));
    return safe.length > LONGEST_TEXT ? `${safe.slice(0, LONGEST_TEXT)} [cut]` : safe;
  };
}

function present(fields: Readonly<Record<string, unknown>>, { allowed, cut }: Presented): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  const leftOut: string[] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (!allowed.has(name)) leftOut.push(cut(name));
    else shown[name] = name === 'error' ? presentError(value, cut) : printableValue(value, cut);
  }
  return leftOut.length > 0 ? { ...shown, left_out: leftOut } : shown;
}

/** Prints only simple values, because an object could contain a whole request. */
function printableValue(value: unknown, cut: Cut): unknown {
  if (typeof value === 'string') return cut(value);
  if (typeof value === 'bigint') return value.toString();
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'invalid date' : isoTime(value);
  if (value instanceof Error) return presentError(value, cut);
  if (Array.isArray(value))
    return value.slice(0, MAX_ITEMS).map((item) => (Array.isArray(item) ? '[list]' : printableValue(item, cut)));
  return `[${typeof value}]`;
}

/** Prints name, message, code, stack and cause. Leaves out other fields, because those of a database error contain row values. */
function presentError(error: unknown, cut: Cut, depth = 0): unknown {
  if (!(error instanceof Error)) return printableValue(error, cut);
  const code =
    'code' in error && (typeof error.code === 'string' || typeof error.code === 'number')
      ? { code: printableValue(error.code, cut) }
      : {};
  const cause =
    error.cause === undefined || depth >= DEEPEST_CAUSE ? {} : { cause: presentError(error.cause, cut, depth + 1) };
  return { name: cut(error.name), message: cut(error.message), ...code, stack: cut(error.stack ?? ''), ...cause };
}
