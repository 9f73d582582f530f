import { join, resolve } from 'node:path';
import { z } from 'zod';
import { formatUsdc, unitsOfUsdc } from '../contract/money.ts';
import { named, type OwnWords, ofOwner, ofSource, own } from '../contract/own-words.ts';
import { MAX_PRICE_UNITS, NETWORK_NAMES } from '../contract/vocabulary.ts';
import { readBaseUrl } from '../sdk/client.ts';
import { describePath } from '../sdk/schema-path.ts';
import { PolicyRefused } from './agent-error.ts';
import { configFolder, type Env, homeFolder } from './folders.ts';
import { type FileFault, findUnsafeFolder, LIMIT_RULES, readOwnFile } from './own-file.ts';

const usdc = z.number().transform((amount, context) => {
  const units = unitsOfUsdc(amount);
  if (units !== null) return units;
  context.addIssue({ code: 'custom', message: 'must be USDC, 0 or more, with at most 6 decimals' });
  return z.NEVER;
});
const names = z
  .array(z.string().min(1).max(200))
  .max(1_000)
  .transform((list) => list.map((name) => name.toLowerCase()));
const choice = z.strictObject({ allow: names.optional(), deny: names.optional() });
const market = z.string().transform((address, context) => {
  try {
    return readBaseUrl(address);
  } catch {
    context.addIssue({ code: 'custom', message: 'must be the address of a market' });
    return z.NEVER;
  }
});

/** Format of `policy.json`. Unknown members are refused, so that a misspelled limit isn't ignored. */
const policyFile = z.strictObject({
  version: z.literal(1),
  per_purchase_usdc: usdc,
  per_day_usdc: usdc,
  ask_above_usdc: usdc.optional(),
  sellers: choice.optional(),
  aisles: choice.optional(),
  markets: z.array(market).max(100).optional(),
  networks: z.array(z.enum(NETWORK_NAMES)).optional(),
});

type Choice = z.output<typeof choice>;
type NetworkName = (typeof NETWORK_NAMES)[number];

/** Spending limits. Amounts are units of USDC: 1 USDC is 1_000_000n. */
export interface Policy {
  /** The policy file, which may not exist. */
  readonly path: string;
  /** False if there is no file, so that the built-in limits apply. */
  readonly isOwn: boolean;
  readonly perPurchaseUnits: bigint;
  /** Per UTC day and wallet, fees included. */
  readonly perDayUnits: bigint;
  /** Larger sums need a person's consent each time. Null if none do. */
  readonly askAboveUnits: bigint | null;
  /** Handles or wallet addresses, in lower case. */
  readonly sellers: Choice;
  readonly aisles: Choice;
  /** Base addresses. Null allows any market. */
  readonly markets: readonly string[] | null;
  /** Null allows any network. */
  readonly networks: readonly NetworkName[] | null;
}

const BUILT_IN = { perPurchaseUnits: 5_000_000n, perDayUnits: 20_000_000n, askAboveUnits: null } as const;

export function policyFileOf(env: Env): string {
  return join(configFolder(env), 'policy.json');
}

/**
 * Reads the user's policy. Without a file the limits are 5 USDC a purchase and 20 a day, but a `file` that the caller names must exist.
 * Refuses a file that another user could have written or placed; others may read it. Throws `PolicyRefused`.
 */
export async function readPolicy(env: Env, file?: string): Promise<Policy> {
  const path = file === undefined ? policyFileOf(env) : resolve(file);
  const text = await readText(path, homeFolder(env));
  if (text === null) {
    // The caller may have misspelled the name, and the limits in the right file must not be ignored.
    if (file !== undefined) throw unreadablePolicy(path, 'ENOENT');
    return { path, isOwn: false, ...BUILT_IN, sellers: {}, aisles: {}, markets: null, networks: null };
  }
  let read: unknown;
  try {
    // Some editors add a byte order mark.
    read = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    throw unreadablePolicy(path, 'not JSON');
  }
  if (hasRepeatedMember(text)) throw unreadablePolicy(path, own`a name appears twice`);
  const parsed = policyFile.safeParse(read);
  if (!parsed.success) {
    throw unreadablePolicy(path, faultOf(parsed.error.issues));
  }
  const { per_purchase_usdc, per_day_usdc, ask_above_usdc, sellers, aisles, markets, networks } = parsed.data;
  return {
    path,
    isOwn: true,
    perPurchaseUnits: per_purchase_usdc,
    perDayUnits: per_day_usdc,
    askAboveUnits: ask_above_usdc ?? null,
    sellers: sellers ?? {},
    aisles: aisles ?? {},
    markets: markets ?? null,
    networks: networks ?? null,
  };
}

/** Describes the fault without names or values from the file, because they could contain a sentence. */
function faultOf([issue]: readonly z.core.$ZodIssue[]): OwnWords {
  const words = issue?.code === 'custom' ? issue.message : issue?.code;
  return own`${describePath(policyFile, issue?.path ?? [])}: ${ofSource(words ?? 'malformed')}`;
}

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|[{}[\]]/g;

/** Whether an object in this JSON repeats a name. The last value would count, while the owner may read the first. */
function hasRepeatedMember(json: string): boolean {
  const open: Set<unknown>[] = [];
  for (const [token, text, colon] of json.matchAll(TOKEN)) {
    if (token === '{' || token === '[') open.push(new Set());
    else if (text === undefined) open.pop();
    else if (colon !== undefined) {
      const names = open.at(-1);
      // Names may contain escapes.
      const name: unknown = JSON.parse(text);
      if (names?.has(name) === true) return true;
      names?.add(name);
    }
  }
  return false;
}

/** Returns null if there is no file. Checks its folders even then, because another user could have removed it to change the limits. */
async function readText(path: string, home: string): Promise<string | null> {
  try {
    const folder = await findUnsafeFolder(path, home);
    if (folder !== null) throw unsafePolicy(path, folder);
    const read = await readOwnFile(path, LIMIT_RULES);
    if (read === null) return null;
    if ('text' in read) return read.text;
    throw read.fault.kind === 'unsafe' ? unsafePolicy(path, read.fault) : unreadablePolicy(path, read.fault.why);
  } catch (error) {
    if (error instanceof PolicyRefused) throw error;
    throw unreadablePolicy(path, error instanceof Error && 'code' in error ? String(error.code) : 'unknown');
  }
}

function unsafePolicy(path: string, { why, nextStep = own`` }: FileFault): PolicyRefused {
  const policy = why.startsWith(`${path} `) ? own`the policy` : own`the policy ${ofOwner(path)}`;
  return new PolicyRefused(
    'policy_unsafe',
    own`Someone else may control ${policy}: ${why}. Nothing is spent`,
    nextStep,
  );
}

function unreadablePolicy(path: string, why: string): PolicyRefused {
  const next = own`Fix the file, or remove it to use the built-in limits: 5 USDC a purchase and 20 a day.`;
  return new PolicyRefused(
    'policy_unreadable',
    own`The policy ${ofOwner(path)} can’t be read (${ofOwner(why)}). Nothing is spent`,
    next,
  );
}

/** A payment to judge. Its amount is 0 for goods collected without paying. */
export interface Spend {
  market: string;
  network: NetworkName;
  amountUnits: bigint;
  /** Null for a listing fee, to which the rules for sellers and aisles don't apply. */
  goods: { seller: string; sellerWallet: string; aisle: string } | null;
}

/** Throws `PolicyRefused` if the policy forbids any signature at this market or on this network. */
export function judgeMarket(policy: Policy, { market: at, network }: Pick<Spend, 'market' | 'network'>): void {
  const next = policyChangeHint(policy);
  if (policy.markets !== null && !policy.markets.includes(at))
    throw new PolicyRefused('market_not_allowed', own`The policy doesn’t allow the market ${ofOwner(at)}`, next);
  if (policy.networks !== null && !policy.networks.includes(network))
    throw new PolicyRefused('network_not_allowed', own`The policy doesn’t allow payments on ${named(network)}`, next);
}

/** Throws `PolicyRefused` if the policy forbids this payment. The day's total is checked by the book. */
export function judgeSpend(policy: Policy, { amountUnits, goods, ...market }: Spend): void {
  judgeMarket(policy, market);
  const next = policyChangeHint(policy);
  if (goods !== null) {
    // An address in the policy matches only the payee, never a handle, because a market could call a seller by that address.
    const handle = goods.seller.toLowerCase();
    const names = [goods.sellerWallet.toLowerCase(), ...(WALLET.test(handle) ? [] : [handle])];
    if (!choiceAllows(policy.sellers, names))
      throw new PolicyRefused('seller_not_allowed', own`The policy doesn’t allow the seller of this listing`, next);
    if (!choiceAllows(policy.aisles, [goods.aisle.toLowerCase()]))
      throw new PolicyRefused('aisle_not_allowed', own`The policy doesn’t allow the aisle of this listing`, next);
  }
  // The book accepts no larger sums.
  const most = policy.perPurchaseUnits < MAX_PRICE_UNITS ? policy.perPurchaseUnits : MAX_PRICE_UNITS;
  if (amountUnits <= most) return;
  const title = own`${formatUsdc(amountUnits)} is more than the ${formatUsdc(most)} allowed per payment`;
  throw new PolicyRefused('above_per_purchase', title, next);
}

const WALLET = /^0x[0-9a-f]{40}$/;

/** `deny` wins. If there is an `allow` list, everything else is excluded. */
function choiceAllows({ allow, deny }: Choice, names: readonly string[]): boolean {
  if (deny?.some((name) => names.includes(name)) === true) return false;
  return allow === undefined || allow.some((name) => names.includes(name));
}

/** Returns a next step that names the file, and says so if the built-in limits apply. */
export function policyChangeHint({ path, isOwn }: Policy): OwnWords {
  return isOwn
    ? own`The wallet’s owner can change ${ofOwner(path)}.`
    : own`These are the built-in limits (5 USDC a purchase, 20 a day). The wallet’s owner can create ${ofOwner(path)} to change them.`;
}
