import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { configFolder, folderNameOf } from '../agent/folders.ts';
import { HANDLE_PATTERN } from '../contract/identity.ts';
import { formed, joined, type OwnWords, ofOwner, ofSource, own } from '../contract/own-words.ts';
import { type Client, readBaseUrl } from '../sdk/client.ts';
import { type Cli, connectTo } from './cli.ts';
import { CliError, toCliError, wrongUse } from './cli-error.ts';
import { resumeCommand } from './finish-pending-change.ts';
import { type Identity, readIdentity, SECRET_TEXT } from './identity.ts';

export interface Account {
  market: string;
  key: string;
  /** Null: the key was handed in. */
  path: string | null;
  content: Identity | null;
}

/** The key of a merchant, from the standard input or from its file, which stays as it is. */
export async function openAccount(cli: Cli): Promise<Account> {
  if (cli.options['key-stdin'] === true)
    return { market: neededMarket(cli), key: await readKey(cli), path: null, content: null };
  const path = cli.options.out === undefined ? await findFile(cli) : await findFile(withoutOut(cli));
  const content = await readIdentity(path);
  if (content === null)
    throw noIdentity(own`There is no file ${ofOwner(path)}`, own`openaisle join makes one; --file names another.`);
  const { merchant_key: key, pending } = content;
  if (key === null) {
    const nextStep = pending === null ? own`openaisle join makes one.` : resumeCommand(pending, path);
    throw noIdentity(own`No key in ${ofOwner(path)} is known to be in force`, nextStep);
  }
  return { market: marketOf(cli, content, path), key, path, content };
}

/** Where a command's --out is not the merchant's file. */
function withoutOut(cli: Cli): Cli {
  const { out: _, ...options } = cli.options;
  return { ...cli, options };
}

/** A refusal of a file's key, with what the file itself may have to say about it. */
export function refusalOf(error: unknown, { path, content }: Pick<Account, 'path' | 'content'>) {
  const pending = content?.pending ?? null;
  const reason = error instanceof Error && 'reason' in error ? error.reason : null;
  if (path === null || reason !== 'key_invalid') return toCliError(error);
  const nextStep =
    pending === null
      ? own`If it was replaced from elsewhere, use the newer file, or openaisle recover with one of the recovery codes.`
      : own`The file holds a newer key whose confirm is not known: ${resumeCommand(pending, path)}`;
  return toCliError(error, { nextStep, file: path });
}

export function readKey(cli: Cli): Promise<string> {
  return readOne(cli, 'Merchant key');
}

export function readCode(cli: Cli): Promise<string> {
  return readOne(cli, 'Recovery code');
}

async function readOne({ terminal }: Cli, what: string): Promise<string> {
  const text = await terminal.readSecret(what);
  if (!SECRET_TEXT.test(text)) throw wrongUse(own`That is no ${ofOwner(what.toLowerCase())}`);
  return text;
}

const HANDLE = new RegExp(HANDLE_PATTERN);
const THIS_MACHINE = /^(?:localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

type Said = Pick<Cli, 'options' | 'env'>;

/**
 * Returns the address that the market calls itself, as the owner says; undefined: the owner did not say. It holds for the one market that is
 * named, and for no other that a command speaks with.
 */
export function ownNameOf(said: Said, market: string): string | undefined {
  const option = said.options['market-calls-itself'];
  const given = option ?? said.env['OPENAISLE_MARKET_CALLS_ITSELF'];
  if (given === undefined || given === '') return undefined;
  const named = namedMarket(said);
  if (named === null && option !== undefined)
    throw wrongUse(own`--market-calls-itself is about one market: name it by --market, or set OPENAISLE_MARKET`);
  try {
    return named === market ? readBaseUrl(given) : undefined;
  } catch {
    throw wrongUse(own`--market-calls-itself takes an http or https address without credentials, query or fragment`);
  }
}

/** The market that was named, or null. */
export function namedMarket(cli: Said): string | null {
  const given = cli.options.market ?? cli.env['OPENAISLE_MARKET'];
  return given === undefined || given === '' ? null : readMarket(cli, given);
}

/** The market that was named, which is needed. */
export function neededMarket(cli: Cli): string {
  const named = namedMarket(cli);
  if (named === null) throw wrongUse(own`Which market? Give --market URL, or set OPENAISLE_MARKET`);
  return named;
}

/** The market of a file. Its key goes to no other one. */
export function marketOf(cli: Cli, content: Identity | null, path: string): string {
  if (content === null || content.market === null) return neededMarket(cli);
  const market = readMarket(cli, content.market);
  // The variable is a default for every market's files; only what was said for this call contradicts.
  const named = cli.options.market === undefined ? null : namedMarket(cli);
  if (named !== null && named !== market)
    throw wrongUse(own`${ofOwner(path)} belongs to ${ofOwner(market)}; what is in it is sent nowhere else`);
  return market;
}

/** An address that may be sent a key or a payment. Throws where it is not one, or not protected. */
export function readMarket(cli: Said, given: string): string {
  let url: string;
  try {
    url = readBaseUrl(given);
  } catch {
    throw wrongUse(own`The market must be an http or https address without credentials, query or fragment`);
  }
  const { protocol, hostname } = new URL(url);
  if (protocol === 'http:' && !THIS_MACHINE.test(hostname) && cli.options['allow-http'] !== true)
    throw wrongUse(
      own`${ofOwner(url)} is not protected by TLS: a key would be readable on the way`,
      own`Use https, or --allow-http.`,
    );
  return url;
}

/** The file that was named, or null. */
export function namedFile(cli: Cli): string | null {
  const { file, out } = cli.options;
  if (file !== undefined && out !== undefined) throw wrongUse(own`--file and --out do not go together`);
  const path = file ?? out;
  return path === undefined ? null : resolve(path);
}

/** Where a merchant's file is unless another was named. */
export function defaultFile(cli: Cli, market: string, handle: string): string {
  // It comes from the market's answer at times, and stands in a path.
  if (!HANDLE.test(handle)) throw wrongUse(own`A handle must match ${ofSource(HANDLE_PATTERN)}`);
  return join(folderOf(cli, market), `${handle}.json`);
}

function folderOf(cli: Cli, market: string): string {
  return join(configFolder(cli.env), folderNameOf(market));
}

/** The file of the merchant that was meant: the named one, the one of the handle, or the only one of that market. */
export async function findFile(cli: Cli): Promise<string> {
  const found = namedFile(cli);
  if (found !== null) return found;
  const market = neededMarket(cli);
  if (cli.options.handle !== undefined) return defaultFile(cli, market, cli.options.handle);
  const handles = await handlesIn(folderOf(cli, market));
  const [only, ...others] = handles;
  if (only === undefined)
    throw noIdentity(
      own`No identity for ${ofOwner(market)} in ${ofOwner(folderOf(cli, market))}`,
      own`openaisle join makes one; --file names another place.`,
    );
  if (others.length > 0)
    throw wrongUse(own`Which merchant? Give --handle: ${joined(handles.map((one) => formed('handle', one)))}`);
  return defaultFile(cli, market, only);
}

export function noIdentity(title: OwnWords, nextStep: OwnWords): CliError {
  return new CliError('wrong_use', { reason: 'no_identity', title, nextStep });
}

async function handlesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  });
  return names
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length))
    .filter((name) => HANDLE.test(name))
    .sort();
}

/** Calls the market with the merchant's key. A refusal of the key is told with what the file knows of it. */
export async function asMerchant<T>(cli: Cli, work: (client: Client, account: Account) => Promise<T>): Promise<T> {
  const account = await openAccount(cli);
  try {
    return await work(connectTo(cli, account.market)(account.key), account);
  } catch (error) {
    throw refusalOf(error, account);
  }
}
