import { z } from 'zod';
import { NETWORKS } from '../../../src/contract/networks.ts';
import { WORLD_ACCOUNTS } from '../../../src/local/chain/accounts.ts';
import type { LocalWorld } from '../../../src/local/world.ts';
import { QUERIES, VALUES } from './contents.ts';
import { type HostileRequest, hostileBodies } from './requests.ts';

/** Body limit of the facilitator. */
const LIMIT_BYTES = 65_536;
const HEAD_ROOM = 15_000;

const told = z.object({ routes: z.array(z.string()).min(1) });

interface Route {
  name: string;
  exempt: string | null;
  requests: HostileRequest[];
}

/** Builds every hostile request for each route that the facilitator lists at its root. */
export async function facilitatorRequests({ facilitatorUrl, facilitatorAuth }: LocalWorld): Promise<Route[]> {
  const { routes } = told.parse(await (await fetch(`${facilitatorUrl}/`)).json());
  const headers = { authorization: facilitatorAuth };
  const asked = routes.map(async (path): Promise<Route> => {
    // Routes without GET take POST.
    const { status } = await fetch(`${facilitatorUrl}${path}`, { headers });
    const method = status === 404 ? 'POST' : 'GET';
    const requests = method === 'POST' ? writes(path, headers) : reads(path, headers);
    return { name: `${method} ${path}`, exempt: null, requests };
  });
  return await Promise.all(asked);
}

function reads(path: string, headers: Record<string, string>): HostileRequest[] {
  const plain = { method: 'GET', headers, body: null };
  return [
    ...['payer', 'payee'].flatMap((name) =>
      Object.entries(VALUES).map(([content, fill]) => ({
        ...plain,
        content: `${content} in ${name}`,
        path: `${path}?payee=1&${name}=${fill(HEAD_ROOM)}`,
      })),
    ),
    ...Object.entries(QUERIES).map(([content, fill]) => ({ ...plain, content, path: `${path}?${fill(HEAD_ROOM)}` })),
  ];
}

function writes(path: string, headers: Record<string, string>): HostileRequest[] {
  const forms = [2, 1].map((version) => {
    const base = paymentOf(version as 1 | 2);
    return { base, texts: textsIn(base, []) };
  });
  const bodies = hostileBodies(forms, LIMIT_BYTES);
  return bodies.map((one) => ({
    ...{ method: 'POST', path, headers: { ...headers, 'content-type': 'application/json' } },
    ...one,
  }));
}

type Path = readonly string[];

function textsIn(value: unknown, path: Path): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([name, member]) => textsIn(member, [...path, name]));
}

/** Builds a well-formed payment with an invalid signature. */
function paymentOf(version: 1 | 2): Record<string, unknown> {
  const network = NETWORKS.base;
  const name = version === 1 ? network.name : network.caip2;
  const { domainName, domainVersion, usdc: asset } = network;
  const terms = {
    ...{ scheme: 'exact', network: name, asset, payTo: WORLD_ACCOUNTS.sellerOne.address, maxTimeoutSeconds: 60 },
    ...(version === 1 ? { maxAmountRequired: '1000000' } : { amount: '1000000' }),
    extra: { name: domainName, version: domainVersion },
  };
  const authorization = {
    from: WORLD_ACCOUNTS.guest.address,
    to: WORLD_ACCOUNTS.sellerOne.address,
    value: '1000000',
    validAfter: '0',
    validBefore: '99999999999',
    nonce: `0x${'5a'.repeat(32)}`,
  };
  const payload = { signature: `0x${'5a'.repeat(64)}1b`, authorization };
  const chosen = version === 1 ? { scheme: 'exact', network: name } : { accepted: terms };
  return {
    x402Version: version,
    paymentPayload: { x402Version: version, ...chosen, payload },
    paymentRequirements: terms,
  };
}
