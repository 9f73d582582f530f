import { join, resolve } from 'node:path';
import { z } from 'zod';
import { sayUsdc, unitsOfUsdc } from '../contract/money.ts';
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
  context.addIssue({ code: 'custom', message: 'must be USDC from 0 on with at most 6 decimals' });
  return z.NEVER;
});
const names = z
  .array(z.string().min(1).max(200))
  .max(1_000)
  .transform((given) => given.map((name) => name.toLowerCase()));
const choice = z.strictObject({ allow: names.optional(), deny: names.optional() });
const market = z.string().transform((given, context) => {
  try {
    return readBaseUrl(given);
  } catch {
    context.addIssue({ code: 'custom', message: 'must be the address of a market' });
    return z.NEVER;
  }
});

/** The file `policy.json`. What it does not know is refused: a limit that is spelled wrong must not be left out. */
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

/** How much may be spent, where, and with whom. Amounts are units of USDC: 1 USDC is 1_000_000n. */
export interface Policy {
  /** The file it stands in, or should stand in. */
  readonly path: string;
  /** False: there is no file, and the limits are the built-in ones. */
  readonly isOwn: boolean;
  readonly perPurchaseUnits: bigint;
  /** Per day of UTC and wallet, fees included. */
  readonly perDayUnits: bigint;
  /** Above it a person is asked each time; null: never. */
  readonly askAboveUnits: bigint | null;
  /** Handles, or addresses of wallets; lower case. */
  readonly sellers: Choice;
  readonly aisles: Choice;
  /** Base addresses; null: any market. */
  readonly markets: readonly string[] | null;
  /** Null: any. A market for trying things out could ask for money of another network. */
  readonly networks: readonly NetworkName[] | null;
}

const BUILT_IN = { perPurchaseUnits: 5_000_000n, perDayUnits: 20_000_000n, askAboveUnits: null } as const;

export function policyFileOf(env: Env): string {
  return join(configFolder(env), 'policy.json');
}

/**
 * The policy of this user: 5 USDC a purchase and 20 a day where there is no file. `file` is another one than the usual, which must be
 * there. Others may read it; where another user could have written it, or put it there, it is refused. Throws `PolicyRefused`.
 */
export async function readPolicy(env: Env, file?: string): Promise<Policy> {
  const path = file === undefined ? policyFileOf(env) : resolve(file);
  const text = await readText(path, homeFolder(env));
  if (text === null) {
    // What was named and is not there may be spelled wrong: its limits must not be left out.
    if (file !== undefined) throw unreadablePolicy(path, 'ENOENT');
    return { path, isOwn: false, ...BUILT_IN, sellers: {}, aisles: {}, markets: null, networks: null };
  }
  let read: unknown;
  try {
    // Some editors write a byte order mark first.
    read = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    throw unreadablePolicy(path, 'not JSON');
  }
  if (hasRepeatedMember(text)) throw unreadablePolicy(path, own`one name stands there twice`);
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

/** The place by the names of the schema, and the fault in words of ours or by its code: names and values of the file could be a sentence. */
function faultOf([issue]: readonly z.core.$ZodIssue[]): OwnWords {
  const words = issue?.code === 'custom' ? issue.message : issue?.code;
  return own`${describePath(policyFile, issue?.path ?? [])}: ${ofSource(words ?? 'malformed')}`;
}

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|[{}[\]]/g;

/** Whether an object of this JSON gives a member twice: the last would be in force, and its owner may look at the first. */
function hasRepeatedMember(json: string): boolean {
  const open: Set<unknown>[] = [];
  for (const [token, text, colon] of json.matchAll(TOKEN)) {
    if (token === '{' || token === '[') open.push(new Set());
    else if (text === undefined) open.pop();
    else if (colon !== undefined) {
      const names = open.at(-1);
      // A name may be spelled with escapes.
      const name: unknown = JSON.parse(text);
      if (names?.has(name) === true) return true;
      names?.add(name);
    }
  }
  return false;
}

/** Null: there is no file. Its folders are looked at all the same: who takes a policy away has other limits in force. */
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
  const which = why.startsWith(`${path} `) ? own`The policy` : own`The policy ${ofOwner(path)}`;
  return new PolicyRefused('policy_unsafe', own`${which} may be another's: ${why}; nothing is spent`, nextStep);
}

function unreadablePolicy(path: string, why: string): PolicyRefused {
  const next = own`Mend the file, or remove it: then 5 USDC a purchase and 20 a day are the limits.`;
  return new PolicyRefused(
    'policy_unreadable',
    own`The policy ${ofOwner(path)} cannot be read (${ofOwner(why)}); nothing is spent`,
    next,
  );
}

/** A payment that is about to be made, or goods that are about to be had for nothing. */
export interface Spend {
  /** Base address of the market. */
  market: string;
  network: NetworkName;
  amountUnits: bigint;
  /** Null for a listing fee, which no choice of sellers and aisles is about. */
  goods: { seller: string; sellerWallet: string; aisle: string } | null;
}

/** Whether anything may be signed at this market and on this network, with value or without. Throws `PolicyRefused`. */
export function judgeMarket(policy: Policy, { market: at, network }: Pick<Spend, 'market' | 'network'>): void {
  const next = howToChange(policy);
  if (policy.markets !== null && !policy.markets.includes(at))
    throw new PolicyRefused('market_not_allowed', own`The policy does not allow the market ${ofOwner(at)}`, next);
  if (policy.networks !== null && !policy.networks.includes(network))
    throw new PolicyRefused('network_not_allowed', own`The policy does not allow money of ${named(network)}`, next);
}

/** Whether the policy allows this payment by itself; the day's total is the book's. Throws `PolicyRefused`. */
export function judgeSpend(policy: Policy, { amountUnits, goods, ...place }: Spend): void {
  judgeMarket(policy, place);
  const next = howToChange(policy);
  if (goods !== null) {
    // A wallet of the policy stands for what is signed for: a market cannot call a seller by it.
    const handle = goods.seller.toLowerCase();
    const names = [goods.sellerWallet.toLowerCase(), ...(WALLET.test(handle) ? [] : [handle])];
    if (!choiceAllows(policy.sellers, names))
      throw new PolicyRefused('seller_not_allowed', own`The policy does not allow the seller of this listing`, next);
    if (!choiceAllows(policy.aisles, [goods.aisle.toLowerCase()]))
      throw new PolicyRefused('aisle_not_allowed', own`The policy does not allow the aisle of this listing`, next);
  }
  // The book takes no larger sums.
  const most = policy.perPurchaseUnits < MAX_PRICE_UNITS ? policy.perPurchaseUnits : MAX_PRICE_UNITS;
  if (amountUnits <= most) return;
  const said = own`${sayUsdc(amountUnits)} is above the ${sayUsdc(most)} that one payment may cost`;
  throw new PolicyRefused('above_per_purchase', said, next);
}

const WALLET = /^0x[0-9a-f]{40}$/;

/** Denied wins; a list of the allowed that is there leaves out all others. */
function choiceAllows({ allow, deny }: Choice, names: readonly string[]): boolean {
  if (deny?.some((name) => names.includes(name)) === true) return false;
  return allow === undefined || allow.some((name) => names.includes(name));
}

/** Names the file, and says so where the limits are the built-in ones. */
export function howToChange({ path, isOwn }: Policy): OwnWords {
  return isOwn
    ? own`The owner of this wallet may change ${ofOwner(path)}.`
    : own`These are the built-in limits (5 USDC a purchase, 20 a day): there is no ${ofOwner(path)}. The owner of this wallet may write it.`;
}
