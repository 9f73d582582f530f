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
  /** Null if the key came from standard input. */
  path: string | null;
  content: Identity | null;
}

/** Reads a merchant's key from standard input or from its file, without locking or changing the file. */
export async function openAccount(cli: Cli): Promise<Account> {
  if (cli.options['key-stdin'] === true)
    return { market: requiredMarket(cli), key: await readKey(cli), path: null, content: null };
  const path = await findFile(withoutOut(cli));
  const content = await readIdentity(path);
  if (content === null)
    throw noIdentity(
      own`There is no file ${ofOwner(path)}`,
      own`Run openaisle join to create one, or name another with --file.`,
    );
  const { merchant_key: key, pending } = content;
  if (key === null) {
    const nextStep =
      pending === null ? own`Run openaisle join to create one.` : own`Run ${resumeCommand(pending, path)}`;
    throw noIdentity(own`${ofOwner(path)} has no confirmed key`, nextStep);
  }
  return { market: marketOf(cli, content, path), key, path, content };
}

/** Removes --out, which here doesn't name the merchant's file. */
function withoutOut(cli: Cli): Cli {
  const { out: _, ...options } = cli.options;
  return { ...cli, options };
}

/** Converts an error. If the market refused the key, adds a next step that depends on the file's state. */
export function refusalOf(error: unknown, { path, content }: Pick<Account, 'path' | 'content'>) {
  const pending = content?.pending ?? null;
  const reason = error instanceof Error && 'reason' in error ? error.reason : null;
  if (path === null || reason !== 'key_invalid') return toCliError(error);
  const nextStep =
    pending === null
      ? own`If it was replaced elsewhere, use the newer file, or run openaisle recover with a recovery code.`
      : own`The file holds a newer key that may not be confirmed. Run ${resumeCommand(pending, path)}`;
  return toCliError(error, { nextStep, file: path });
}

export function readKey(cli: Cli): Promise<string> {
  return readSecretOf(cli, 'Merchant key');
}

export function readCode(cli: Cli): Promise<string> {
  return readSecretOf(cli, 'Recovery code');
}

async function readSecretOf({ terminal }: Cli, what: string): Promise<string> {
  const text = await terminal.readSecret(what);
  if (!SECRET_TEXT.test(text)) throw wrongUse(own`That isn’t a ${ofOwner(what.toLowerCase())}`);
  return text;
}

const HANDLE = new RegExp(HANDLE_PATTERN);
const LOCAL_HOST = /^(?:localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

type Settings = Pick<Cli, 'options' | 'env'>;

/**
 * Returns the address by which the market calls itself, if the owner set one. It applies only to the market that the owner named, not to
 * others that a command may contact.
 */
export function ownNameOf(settings: Settings, market: string): string | undefined {
  const option = settings.options['market-calls-itself'];
  const address = option ?? settings.env['OPENAISLE_MARKET_CALLS_ITSELF'];
  if (address === undefined || address === '') return undefined;
  const named = namedMarket(settings);
  if (named === null && option !== undefined)
    throw wrongUse(own`--market-calls-itself needs a market: give --market, or set OPENAISLE_MARKET`);
  try {
    return named === market ? readBaseUrl(address) : undefined;
  } catch {
    throw wrongUse(own`--market-calls-itself must be an http or https address without credentials, query or fragment`);
  }
}

export function namedMarket(cli: Settings): string | null {
  const address = cli.options.market ?? cli.env['OPENAISLE_MARKET'];
  return address === undefined || address === '' ? null : readMarket(cli, address);
}

export function requiredMarket(cli: Cli): string {
  const named = namedMarket(cli);
  if (named === null) throw wrongUse(own`Which market? Give --market URL, or set OPENAISLE_MARKET`);
  return named;
}

/** Returns the market of a merchant's file. The key is never sent to another one. */
export function marketOf(cli: Cli, content: Identity | null, path: string): string {
  if (content === null || content.market === null) return requiredMarket(cli);
  const market = readMarket(cli, content.market);
  // OPENAISLE_MARKET is only a default, so it may differ from the file's market. --market may not.
  const named = cli.options.market === undefined ? null : namedMarket(cli);
  if (named !== null && named !== market)
    throw wrongUse(own`${ofOwner(path)} belongs to ${ofOwner(market)}, and its secrets are sent nowhere else`);
  return market;
}

/** Parses a market's address. Throws if it isn't protected by TLS, unless it is this machine or --allow-http is set. */
export function readMarket(cli: Settings, address: string): string {
  let url: string;
  try {
    url = readBaseUrl(address);
  } catch {
    throw wrongUse(own`The market must be an http or https address without credentials, query or fragment`);
  }
  const { protocol, hostname } = new URL(url);
  if (protocol === 'http:' && !LOCAL_HOST.test(hostname) && cli.options['allow-http'] !== true)
    throw wrongUse(
      own`${ofOwner(url)} doesn’t use TLS, so others on the network could read your key`,
      own`Use https, or add --allow-http.`,
    );
  return url;
}

export function namedFile(cli: Cli): string | null {
  const { file, out } = cli.options;
  if (file !== undefined && out !== undefined) throw wrongUse(own`--file and --out can’t be combined`);
  const path = file ?? out;
  return path === undefined ? null : resolve(path);
}

export function defaultFile(cli: Cli, market: string, handle: string): string {
  // Check the handle, because it may come from the market and becomes part of a path.
  if (!HANDLE.test(handle)) throw wrongUse(own`A handle must match ${ofSource(HANDLE_PATTERN)}`);
  return join(folderOf(cli, market), `${handle}.json`);
}

function folderOf(cli: Cli, market: string): string {
  return join(configFolder(cli.env), folderNameOf(market));
}

/** Finds the merchant's file: the named file, the file of --handle, or the market's only file. */
export async function findFile(cli: Cli): Promise<string> {
  const named = namedFile(cli);
  if (named !== null) return named;
  const market = requiredMarket(cli);
  if (cli.options.handle !== undefined) return defaultFile(cli, market, cli.options.handle);
  const handles = await handlesIn(folderOf(cli, market));
  const [only, ...others] = handles;
  if (only === undefined)
    throw noIdentity(
      own`No identity for ${ofOwner(market)} in ${ofOwner(folderOf(cli, market))}`,
      own`Run openaisle join to create one, or name a file with --file.`,
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

/** Calls the market with the merchant's key. Errors go through `refusalOf`. */
export async function callAsMerchant<T>(cli: Cli, work: (client: Client, account: Account) => Promise<T>): Promise<T> {
  const account = await openAccount(cli);
  try {
    return await work(connectTo(cli, account.market)(account.key), account);
  } catch (error) {
    throw refusalOf(error, account);
  }
}
