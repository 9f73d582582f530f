import { type CityEndpointName, type CityEndpoints, cityEndpoints } from '../contract/city.ts';
import type { Reason } from '../contract/errors.ts';
import { sha256 } from '../platform/canonical-json.ts';
import { checkNetworks, createProviderHealth, createProviders } from '../platform/chain/providers.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database, Tx } from '../platform/database/database.ts';
import { takeQuota } from '../platform/database/quota.ts';
import { createHttpServer, type HttpServer } from '../platform/http/create-http-server.ts';
import { refuseUnreadable } from '../platform/http/failure.ts';
import type { Operations } from '../platform/http/server-options.ts';
import type { Log } from '../platform/log.ts';
import { createHistory, type History, historyLost, type LogCopyPlace, refuseLost } from '../platform/log-copy/place.ts';
import type { Losses } from '../platform/log-copy/store.ts';
import type { Pepper } from '../platform/pepper.ts';
import type { Random } from '../platform/random.ts';
import { Refusal } from '../platform/refusal.ts';
import { isMerchantKey } from '../platform/secrets.ts';
import { type City, type CityConfig, type CityOperation, type Resident, takeHourlyQuota } from './context.ts';
import { advanceOffer, cancelOffer } from './offers/advance-offer.ts';
import { claimOffer } from './offers/claim-offer.ts';
import { openOffer } from './offers/open-offer.ts';
import { presentOffer } from './offers/present-offer.ts';
import { reserveOffer } from './offers/reserve-offer.ts';
import { mustFindOffer } from './offers/store.ts';
import { createSweep } from './offers/sweep.ts';
import { createPages } from './pages/create-pages.ts';
import { readLosses } from './recovery/store.ts';
import {
  confirmRegistration,
  findOwnRegistration,
  type RegistrationIdentity,
  registrationClosed,
  startRegistration,
} from './residents/register-resident.ts';
import {
  closeRegistration,
  findKeyOwner,
  mustFindResident,
  presentResident,
  setMarketHandle,
} from './residents/store.ts';
import { readThing } from './things/read-thing.ts';
import { findResidentId, insertThing, lockThing, moveThing, mustNotBeUnderOffer } from './things/store.ts';

export interface CityOptions {
  config: CityConfig;
  database: Database;
  clock: Clock;
  random: Random;
  log: Log;
  pepper: Pepper;
  sweepEveryMs?: number;
  /** This host's copy of the log. Without it, only losses that other hosts notice are known. */
  logCopy?: LogCopyPlace;
}

export interface RunningCity {
  city: City;
  http: HttpServer;
  sweep: ReturnType<typeof createSweep>;
  start(): Promise<{ url: string; port: number }>;
  /** Stops accepting, drains requests for `drainMs`, then stops background work. The database stays open. */
  stop(options: { drainMs: number }): Promise<void>;
}

const SWEEP_EVERY_MS = 3_000;
const CHAIN_VARIABLES = { rpcUrls: 'CITY_RPC_URLS', usdc: 'CITY_USDC_ADDRESS' };
/** Both sites refuse keys of either site in request texts, even if an operator has chosen another prefix. */
const SITE_PREFIXES = ['aisle', 'city'];

export function createCity(options: CityOptions): RunningCity {
  const { config, database, clock, random, log, pepper } = options;
  const providers = createProviders(config.rpcUrls, clock);
  const providerHealth = createProviderHealth(providers, clock);
  const history = watchHistory(options);
  const { isLost } = history;
  const city: City = { config, database, clock, random, log, pepper, providers, providerHealth, isLost };
  const sweep = createSweep(city, options.sweepEveryMs ?? SWEEP_EVERY_MS);
  const http = createHttpServer({
    endpoints: cityEndpoints,
    operations: guardHistory(isLost, cityOperations),
    context: city,
    authenticate: async (bearer) => {
      // A resident whose registration was lost must not be told that the key is wrong.
      if (isLost()) throw historyLost();
      return await findResidentByKey(city, bearer);
    },
    isMaintainer: () => false,
    callerId: (resident) => resident.id,
    log,
    clock,
    random,
    docsUrl: (reason) => `${config.baseUrl}/docs/errors/${reason}`,
    secretPrefixes: [...new Set([config.keyPrefix, ...SITE_PREFIXES])],
    trustProxy: false,
    classifyError: refuseByDatabase,
    pages: createPages(city, { sweeps: sweep.isLeader, status: history.status }),
  });
  return {
    city,
    http,
    sweep,
    start: async () => {
      await checkNetworks({ providers, network: config.network, log, variables: CHAIN_VARIABLES });
      await history.start();
      sweep.start();
      return await http.listen({ host: config.host, port: config.port });
    },
    stop: async ({ drainMs }) => {
      await http.close({ drainMs });
      await sweep.stop();
      await history.stop();
    },
  };
}

/** Higher than any event id. This process does not track the newest event, so every round of copying must ask the database. */
const UNKNOWN_ID = 2n ** 63n - 1n;

function watchHistory({ database, clock, log, logCopy }: CityOptions): History<Losses> {
  // The city caches no records.
  const onOtherHistory = (): void => {};
  return createHistory({
    ...{ database, clock, log, place: logCopy ?? null, readLosses, onOtherHistory },
    newestId: () => UNKNOWN_ID,
  });
}

/** Returns the owner of a key, or null if no resident has it. A market key never matches, because each site has its own peppers. */
export async function findResidentByKey(
  { config, database, pepper }: Pick<City, 'config' | 'database' | 'pepper'>,
  bearer: string,
): Promise<Resident | null> {
  // The checksum rejects most wrong keys without a query.
  if (!isMerchantKey(bearer, config.keyPrefix)) return null;
  const hashes = pepper.hashes(bearer).map(({ hash }) => hash);
  return findKeyOwner(database, hashes);
}

const DAY_SECONDS = 86_400;

/** Makes a thing, identified by its number. Several things may have the same name. */
export const makeThing: CityOperation<CityEndpoints['makeThing']> = async (city, { body, caller }) => {
  const { clock, config, database } = city;
  await takeQuota(city, {
    name: 'things_per_resident_day',
    subject: String(caller.id),
    limit: config.limits.things_per_resident_day,
    windowSeconds: DAY_SECONDS,
  });
  const id = await database.transaction(async (tx) => {
    await tx.lock('things');
    return insertThing(tx, { name: body.name, makerId: caller.id, at: new Date(clock.now()) });
  });
  return { status: 201, body: { thing: await readThing(city, id) } };
};

/** Gives a thing away, immediately and finally. Giving to oneself changes nothing. */
export const giveThing: CityOperation<CityEndpoints['giveThing']> = async (city, { params, body, caller }) => {
  await city.database.transaction(async (tx) => {
    await lockOwnThing(tx, params.id, caller.id);
    await mustNotBeUnderOffer(tx, params.id);
    const to = await findResidentId(tx, body.to.trim().replace(/^@/, '').toLowerCase());
    if (to === null) throw new Refusal('not_found', { detail: 'There is no resident with that handle.' });
    if (to === caller.id) return;
    await moveThing(tx, { thingId: params.id, to, at: new Date(city.clock.now()), offerId: null });
  });
  return { status: 200, body: { thing: await readThing(city, params.id) } };
};

async function lockOwnThing(tx: Tx, thingId: bigint, residentId: bigint): Promise<void> {
  const thing = await lockThing(tx, thingId);
  if (thing === null) throw new Refusal('not_found', { detail: 'There is no such thing.' });
  if (thing.ownerId !== residentId) throw new Refusal('not_thing_owner');
}

/** Registers a resident in two steps. There are no recovery codes, so a lost key stays lost. */
export const registerResident: CityOperation<CityEndpoints['registerResident']> = async (
  city,
  { body, bearer, clientNetwork },
) => {
  switch (body.action) {
    case 'stage':
      return { status: 200, body: await startRegistration(city, body, clientNetwork) };
    case 'confirm':
      return { status: 200, body: await confirmRegistration(city, { body, bearer, clientNetwork }) };
    case 'cancel':
      return { status: 200, body: await cancelRegistration(city, body) };
  }
};

/** Cancels a pending registration; repeating it changes nothing. A confirmed registration is not undone. */
async function cancelRegistration(
  { database, clock }: Pick<City, 'database' | 'clock'>,
  identity: RegistrationIdentity,
) {
  await database.transaction(async (tx) => {
    const pending = await findOwnRegistration(tx, identity, { lock: true });
    if (pending.closedAs === 'confirmed') throw registrationClosed();
    if (pending.closedAs === null)
      await closeRegistration(tx, sha256(identity.session), 'canceled', new Date(clock.now()));
  });
  return { status: 'canceled' as const };
}

/** Stores one side of a link as claimed. Whether the merchant names this resident too is checked only when something depends on it. */
export const linkMarket: CityOperation<CityEndpoints['linkMarket']> = async ({ database }, { body, caller }) => {
  const row = await database.transaction(async (tx) => {
    await setMarketHandle(tx, caller.id, body.market_handle);
    return mustFindResident(tx, caller.handle);
  });
  return { status: 200, body: { resident: presentResident(row) } };
};

/** POST /api/world/offer/:id/reconcile, for any resident. Does the background job's work for this offer now. */
export const reconcileOffer: CityOperation<CityEndpoints['reconcileOffer']> = async (city, { params, caller }) => {
  await takeHourlyQuota(city, 'reconciles_per_resident_hour', caller);
  await mustFindOffer(city.database, params.id);
  await advanceOffer(city, params.id);
  return { status: 200, body: { offer: presentOffer(city, await mustFindOffer(city.database, params.id)) } };
};

/** GET /api/world/offer/:id. Answers from the database without reading the chain. */
export const getOffer: CityOperation<CityEndpoints['getOffer']> = async (city, { params }) => ({
  status: 200,
  body: { offer: presentOffer(city, await mustFindOffer(city.database, params.id)) },
});

export const getResident: CityOperation<CityEndpoints['getResident']> = async ({ database }, { params }) => {
  return { status: 200, body: { resident: presentResident(await mustFindResident(database, params.handle)) } };
};

export const getThing: CityOperation<CityEndpoints['getThing']> = async (city, { params }) => {
  return { status: 200, body: { thing: await readThing(city, params.id) } };
};

/** Maps each endpoint of the contract to its operation, so that a missing one does not compile. */
const cityOperations: Operations<CityEndpoints, City, Resident> = {
  registerResident,
  linkMarket,
  getResident,
  makeThing,
  giveThing,
  getThing,
  openOffer,
  getOffer,
  reserveOffer,
  claimOffer,
  reconcileOffer,
  cancelOffer,
};

type CityOperations = Operations<CityEndpoints, City, Resident>;
type Act = (city: City, call: never) => Promise<unknown>;

/** Reads on which payers and markets act. If a sale were lost, the answer would say that the thing is for sale. */
const SHOW_PAYMENTS: ReadonlySet<CityEndpointName> = new Set(['getOffer']);

function isPublicRead(name: CityEndpointName): boolean {
  return cityEndpoints[name].method === 'GET' && !SHOW_PAYMENTS.has(name);
}

/** Refuses writes while history is lost, and reads of offers whose payment may be missing. */
function guardHistory(isLost: () => boolean, operations: CityOperations): CityOperations {
  const guarded = Object.entries(operations).map(([name, operation]) => {
    if (isPublicRead(name as CityEndpointName)) return [name, operation];
    // Iterating over all operations loses their individual types.
    const act = operation as unknown as Act;
    const checked: Act = async (city, call) => {
      if (isLost()) throw historyLost();
      return await act(city, call);
    };
    return [name, checked];
  });
  return Object.fromEntries(guarded);
}

/** Maps database errors to refusals: a loss that this process has not noticed yet, or a database that cannot answer now. */
function refuseByDatabase(error: unknown, reasons: readonly Reason[]): Refusal | null {
  return refuseLost(error) ?? refuseUnreadable(error, reasons);
}
