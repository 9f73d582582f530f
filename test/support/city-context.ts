import assert from 'node:assert/strict';
import sql, { raw } from 'sql-template-tag';
import type { City, CityCall, CityConfig, CityOperation, Resident } from '../../src/city/context.ts';
import { ACT_KINDS } from '../../src/city/recovery/store.ts';
import { CITY_LIMITS, type CityLimits } from '../../src/contract/city.ts';
import type { BodyGiven, EndpointShape, ParamsGiven, ResultOf } from '../../src/contract/endpoint.ts';
import { handleSkeleton } from '../../src/contract/handles.ts';
import { NETWORKS } from '../../src/contract/vocabulary.ts';
import { createProviderHealth, createProviders } from '../../src/platform/chain/providers.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import type { Database, Tx } from '../../src/platform/database/database.ts';
import { createPepperFrom } from '../../src/platform/pepper.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { watchText } from './canary.ts';
import { recordingLog } from './recording-log.ts';

/** Differs from the market's pepper, because a key of one site must be invalid at the other. */
export const CITY_PEPPER = createPepperFrom(new Map([[1, Buffer.alloc(32, 9)]]));
const CITY_URL = 'http://127.0.0.1:4022';

/** Generous limits, because all requests of a test come from one address. */
const WIDE: CityLimits = {
  ...CITY_LIMITS,
  registration_per_ip_hour: 1_000,
  confirm_per_ip_hour: 1_000,
  registration_per_hour: 1_000,
};

export function cityConfig(
  changes: Partial<Omit<CityConfig, 'limits'>> & { limits?: Partial<CityLimits> } = {},
): CityConfig {
  return {
    host: '127.0.0.1',
    port: 0,
    baseUrl: CITY_URL,
    databaseUrl: null,
    databaseConnections: null,
    dataDir: '/nonexistent',
    logCopyDir: null,
    marketUrl: 'http://127.0.0.1:1',
    network: NETWORKS.base,
    rpcUrls: ['http://127.0.0.1:1'],
    finalityMinAgeSeconds: 300,
    pepperFile: null,
    keyPrefix: 'city',
    ...changes,
    limits: { ...WIDE, ...changes.limits },
  };
}

/** Returns a city for operations that use neither the chain nor the market; the URLs of both are dummies. */
export function cityContext(options: {
  database: Database;
  clock?: Clock;
  limits?: Partial<CityLimits>;
  changes?: Partial<City>;
}): City {
  const clock = options.clock ?? systemClock;
  const providers = createProviders(['http://127.0.0.1:1'], clock);
  return {
    config: cityConfig(options.limits === undefined ? {} : { limits: options.limits }),
    database: options.database,
    clock,
    random: systemRandom,
    log: recordingLog().log,
    providers,
    providerHealth: createProviderHealth(providers, clock),
    pepper: CITY_PEPPER,
    isLost: () => false,
    ...options.changes,
  };
}

interface CityAskOptions<E extends EndpointShape> {
  params?: ParamsGiven<E>;
  body?: BodyGiven<E>;
  caller?: Resident;
  bearer?: string;
  network?: string;
}

/** Calls an operation as the server would: input and answer are checked against its schemas. */
export async function askCity<E extends EndpointShape>(
  city: City,
  endpoint: E,
  operation: CityOperation<E>,
  asked: CityAskOptions<E> = {},
): Promise<ResultOf<E>> {
  const call = {
    params: endpoint.params?.parse(asked.params),
    body: endpoint.body?.parse(asked.body ?? {}),
    rawBody: asked.body ?? {},
    caller: asked.caller ?? null,
    bearer: asked.bearer ?? null,
    clientNetwork: asked.network ?? '192.0.2.1',
  } as CityCall<E>;
  const { status, body: given } = await operation(city, call);
  const body: unknown = endpoint.answers[status]?.parse(given);
  assert.deepEqual(given, body, 'the answer holds what its schema does not name');
  if (endpoint.secret_fields === undefined) watchText(`the answer of ${endpoint.name}`, JSON.stringify(body));
  return { status, body } as ResultOf<E>;
}

/** Inserts a resident. If `keyHash` is omitted, no key matches. */
export async function seedResident(
  database: Database,
  given: { handle: string; marketHandle?: string; keyHash?: Buffer },
): Promise<Resident> {
  const { handle, marketHandle = null, keyHash = systemRandom.bytes(32) } = given;
  return database.transaction(async (tx) => {
    await tx.lock('residents');
    return tx.one<Resident>(sql`
      insert into residents (id, handle, handle_skeleton, model, client_class, market_handle, key_hash, pepper_version, joined_at)
      values ((select next_id('residents', max(id)) from residents), ${handle}, ${handleSkeleton(handle)}, 'a model',
        'coding_persistent', ${marketHandle}, ${keyHash}, 1, now())
      returning id, handle`);
  });
}

export async function seedThing(database: Database, ownerId: bigint, name = 'A lamp'): Promise<bigint> {
  return database.transaction(async (tx) => {
    await tx.lock('things');
    const { id } = await tx.one<{ id: bigint }>(sql`
      insert into things (id, name, owner_id, created_at)
      values ((select next_id('things', max(id)) from things), ${name}, ${ownerId}, now()) returning id`);
    await tx.run(
      sql`insert into thing_owners (thing_id, nth, owner_id, owned_from) values (${id}, 1, ${ownerId}, now())`,
    );
    return id;
  });
}

/** Inserts an open offer of a thing, as if its draft had been read from a market. */
export async function seedOffer(tx: Tx | Database, thingId: bigint, given: { draftId?: bigint } = {}): Promise<bigint> {
  const { id } = await tx.one<{ id: bigint }>(sql`
    insert into offers (id, thing_id, seller_id, price_units, seller_wallet, market_origin, market_draft_id, market_seller,
      chain_id, asset, created_at)
    select (select next_id('offers', max(id)) from offers), id, owner_id, 2500000, ${Buffer.alloc(20, 1)}, 'http://127.0.0.1:4020',
      ${given.draftId ?? BigInt(systemRandom.int(1_000_000) + 1)}, 'a-merchant', 8453, ${Buffer.alloc(20, 2)}, now()
    from things where id = ${thingId}
    returning id`);
  return id;
}

/** Returns the contents of all tables that a city's event log describes. */
export async function cityBooks(database: Database): Promise<Record<string, unknown>> {
  const books: Record<string, unknown> = {};
  for (const kind of ACT_KINDS.filter((name) => name !== 'id_floors')) {
    books[kind] = await database.rows(sql`select to_jsonb(t) as row from ${raw(kind)} t order by to_jsonb(t)::text`);
  }
  return books;
}
