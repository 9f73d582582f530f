import { createHash, timingSafeEqual } from 'node:crypto';
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { z } from 'zod';
import { readCode } from '../platform/chain/reads.ts';
import { type Hex, isHex } from '../platform/hex.ts';
import { admitFramework } from '../platform/http/admission/admit-requests.ts';
import type { InFlightAnswers } from '../platform/http/exchanges.ts';
import { cooldownSeconds, unitsOfWei } from './budget/gas-budget.ts';
import type { Context } from './context.ts';
import type { Settle } from './create-settle.ts';
import { checkChain } from './monitoring.ts';
import { readEther } from './outcomes.ts';
import { printRefusal, printSettlement, printSupported, printVerdict } from './print-answer.ts';
import { readRequest } from './read-request.ts';
import { type Verdict, verifyPayment } from './verify-payment.ts';

/** Approximate gas of a transfer to a wallet that has never held the token. */
const USUAL_GAS = 110_000n;
const CACHED_MS = 2_000;

const address = z
  .string()
  .transform((text) => text.toLowerCase())
  .pipe(z.custom<Hex>((value) => isHex(value, 20)));

/** Accepts both addresses or neither. Without addresses, the answer describes only the facilitator. */
const stateQuery = z.union([
  z.strictObject({ payer: address, payee: address }),
  z.strictObject({}).transform(() => null),
]);
type StateQuery = z.output<typeof stateQuery>;

interface State {
  /** Number of settlements that the account can still pay gas for. Null if unknown. */
  settlements_covered: number | null;
  /** Lowest price at which a sale pays for its gas now, in millionths of a USDC. Null if unknown. */
  least_price_units: number | null;
  /** True if a settlement of this payer would be accepted now. */
  may_settle?: boolean;
  why?: 'payer_resting' | 'gas_budget_spent' | null;
  retry_after_seconds?: number | null;
}

/** Answers GET /state, which a market calls before it asks for a payment or opens one. */
function createReadState(context: Context): (query: StateQuery) => Promise<State> {
  const { budget, clock, etherUnits, rpc, quoteGas } = context;
  let cached: { at: number; value: Promise<Omit<State, 'may_settle' | 'why' | 'retry_after_seconds'>> } | null = null;
  const readShared = () => {
    if (cached === null || cached.at + CACHED_MS <= clock.now()) {
      const reading = Promise.all([readEther(rpc, context.address), quoteGas.fees()]).then(
        ([wei, { price }]) => ({
          settlements_covered: Number(minimum(wei / (USUAL_GAS * (price > 0n ? price : 1n)), 1_000_000_000n)),
          least_price_units: Number(budget.leastPrice(unitsOfWei(USUAL_GAS * price, etherUnits))),
        }),
        () => ({ settlements_covered: null, least_price_units: null }),
      );
      cached = { at: clock.now(), value: reading };
    }
    return cached.value;
  };
  return async (query) => {
    const state = await readShared();
    if (query === null) return state;
    const refusal = await findRefusal(context, query);
    return {
      ...state,
      may_settle: refusal === null,
      why: refusal?.why ?? null,
      retry_after_seconds: refusal?.seconds ?? null,
    };
  };
}

async function findRefusal(
  context: Context,
  { payer, payee }: { payer: Hex; payee: Hex },
): Promise<{ why: 'payer_resting' | 'gas_budget_spent'; seconds: number } | null> {
  const { journal, clock, budget, quoteGas, etherUnits, rpc } = context;
  const cooldown = cooldownSeconds(journal.cooldowns().get(payer), clock.now());
  if (cooldown > 0) return { why: 'payer_resting', seconds: cooldown };
  const payerKnown = journal.isKnown(payer);
  try {
    const [{ price }, code] = await Promise.all([
      quoteGas.fees(),
      payerKnown ? Promise.resolve('0x') : readCode(rpc, payer, 'latest'),
    ]);
    const grant = budget.findPool({
      hasCode: code !== '0x',
      payerKnown,
      payeeKnown: journal.isKnown(payee),
      // The query contains no price. The market itself compares its price with `least_price_units`.
      isCheap: false,
      units: unitsOfWei(USUAL_GAS * price, etherUnits),
    });
    return 'pool' in grant ? null : { why: 'gas_budget_spent', seconds: grant.retryAfterSeconds };
  } catch {
    // Refuse nothing if the chain cannot be read, because /verify reports that.
    return null;
  }
}

function minimum(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

const BODY_LIMIT_BYTES = 65_536;
const REQUEST_MS = 10_000;
/** Routes that cost gas or reveal who may pay. All others are public. */
const GUARDED: ReadonlySet<string> = new Set(['/verify', '/settle', '/state']);

export interface Served {
  context: Context;
  settle: Settle;
  flights: Pick<InFlightAnswers, 'track'>;
  /** The Authorization header that callers must send. Null admits everyone. */
  auth: string | null;
  balanceFloorWei: bigint;
}

/**
 * Creates the routes of an x402 facilitator, and a short description at the root for visitors. Failures of /verify and /settle also have
 * the protocol's shapes, except 401.
 */
export function createApp(served: Served): FastifyInstance {
  const { context, settle } = served;
  const { clock, log, network } = context;
  const app = fastify({
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_MS,
    serverFactory: admitFramework({ clock, log, trustProxy: false }),
  });
  // Accept only JSON, because pages of other origins can send plain text without a preflight.
  app.removeContentTypeParser('text/plain');
  const isCaller = createCallerCheck(served.auth);
  app.addHook('onRequest', async (request, reply) => {
    served.flights.track(reply.raw);
    reply.header('cache-control', 'no-store');
    // Check the caller before the body is read.
    if (!GUARDED.has(request.routeOptions.url ?? '') || isCaller(request.headers.authorization)) return;
    await reply.code(401).header('www-authenticate', 'Bearer').send({ error: 'unauthorized' });
  });
  app.get('/', async () => ({
    x402_facilitator: true,
    network: network.name,
    routes: ['/supported', '/verify', '/settle', '/state'],
  }));
  app.get('/supported', async () => printSupported(context));
  app.get('/healthz', async () => ({ ok: true }));
  app.get('/readyz', async (_, reply) => {
    const health = await checkChain(context, served.balanceFloorWei);
    return reply.code(health.ready ? 200 : 503).send(health);
  });
  const readState = createReadState(context);
  app.get('/state', async ({ query }, reply) => {
    const read = stateQuery.safeParse(query);
    return read.success ? readState(read.data) : reply.code(400).send({ error: 'name payer and payee, or neither' });
  });
  app.post('/verify', async ({ body }, reply) => {
    const startedAt = clock.now();
    const request = readRequest(body, network);
    if ('reason' in request) return sendAnswer(reply, printRefusal('verify', request, network));
    const verdict = await verifyInTime(served, request);
    log.info('verified', { ...summaryOf(request, verdict), ms: clock.now() - startedAt });
    return sendAnswer(reply, printVerdict(request, verdict));
  });
  app.post('/settle', async ({ body }, reply) => {
    const startedAt = clock.now();
    const request = readRequest(body, network);
    if ('reason' in request) return sendAnswer(reply, printRefusal('settle', request, network));
    const settlement = await settle(request);
    log.info('settled', { ...summaryOf(request, settlement), ms: clock.now() - startedAt });
    return sendAnswer(reply, printSettlement(request, settlement, network));
  });
  app.setNotFoundHandler((_, reply) => reply.code(404).send({ error: 'not_found' }));
  app.setErrorHandler((error, request, reply) => {
    const kind = request.url.startsWith('/settle') ? 'settle' : 'verify';
    const status = statusOf(error);
    if (status >= 500) log.error('request_failed', { route: request.routeOptions.url, error });
    const reason = status >= 500 ? `unexpected_${kind}_error` : 'invalid_payload';
    const message = status >= 500 ? 'something went wrong here' : 'the body must be JSON of at most 65536 bytes';
    return sendAnswer(reply, { ...printRefusal(kind, { status: 400, version: 2, reason, message }, network), status });
  });
  return app;
}

async function verifyInTime(served: Served, request: Parameters<typeof verifyPayment>[1]): Promise<Verdict> {
  const { clock, timing } = served.context;
  const giveUp = new AbortController();
  const late = clock
    .sleep(timing.answerMs, giveUp.signal)
    .then((): Verdict => ({ kind: 'unknown', cause: new Error('the chain took too long') }));
  try {
    return await Promise.race([verifyPayment(served.context, request), late]);
  } finally {
    giveUp.abort();
  }
}

function summaryOf(request: { payer: string; version: number }, outcome: object): Record<string, unknown> {
  const { kind, reason, transaction, cause } = outcome as Record<string, unknown>;
  const failure = cause === undefined ? {} : { error: cause };
  return {
    payer: request.payer,
    version: request.version,
    outcome: kind,
    reason,
    transaction_hash: transaction,
    ...failure,
  };
}

function statusOf(error: unknown): number {
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500;
  return status >= 400 && status < 500 ? status : 500;
}

function sendAnswer(
  reply: FastifyReply,
  { status, body, retryAfterSeconds = 1 }: { status: number; body: object; retryAfterSeconds?: number },
): FastifyReply {
  if (status === 503) reply.header('retry-after', String(retryAfterSeconds));
  return reply.code(status).send(body);
}

function createCallerCheck(auth: string | null): (header: string | undefined) => boolean {
  if (auth === null) return () => true;
  const expectedHash = sha256(auth);
  return (header) => timingSafeEqual(sha256(header ?? ''), expectedHash);
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
