import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { configFolder, folderNameOf } from '../agent/places.ts';
import { HANDLE_PATTERN } from '../contract/identity.ts';
import { readBaseUrl } from '../sdk/client.ts';
import type { Cli } from './cli.ts';
import { CliError, wrongUse } from './cli-error.ts';
import type { Identity } from './identity.ts';

const HANDLE = new RegExp(HANDLE_PATTERN);
const THIS_MACHINE = /^(?:localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** The market that was named, or null. */
export function namedMarket(cli: Cli): string | null {
  const given = cli.options.market ?? cli.env['OPENAISLE_MARKET'];
  return given === undefined || given === '' ? null : readMarket(cli, given);
}

/** The market that was named, which is needed. */
export function neededMarket(cli: Cli): string {
  const named = namedMarket(cli);
  if (named === null) throw wrongUse('Which market? Give --market URL, or set OPENAISLE_MARKET');
  return named;
}

/** The market of a file. Its key goes to no other one. */
export function marketOf(cli: Cli, content: Identity | null, path: string): string {
  if (content === null || content.market === null) return neededMarket(cli);
  const own = readMarket(cli, content.market);
  // The variable is a default for every market's files; only what was said for this call contradicts.
  const named = cli.options.market === undefined ? null : namedMarket(cli);
  if (named !== null && named !== own) throw wrongUse(`${path} belongs to ${own}; what is in it is sent nowhere else`);
  return own;
}

function readMarket(cli: Cli, given: string): string {
  let url: string;
  try {
    url = readBaseUrl(given);
  } catch {
    throw wrongUse('The market must be an http or https address without credentials, query or fragment');
  }
  const { protocol, hostname } = new URL(url);
  if (protocol === 'http:' && !THIS_MACHINE.test(hostname) && cli.options['allow-http'] !== true)
    throw wrongUse(`${url} is not protected by TLS: a key would be readable on the way`, 'Use https, or --allow-http.');
  return url;
}

/** The file that was named, or null. */
export function namedFile(cli: Cli): string | null {
  const { file, out } = cli.options;
  if (file !== undefined && out !== undefined) throw wrongUse('--file and --out do not go together');
  const path = file ?? out;
  return path === undefined ? null : resolve(path);
}

/** Where a merchant's file is unless another was named. */
export function defaultFile(cli: Cli, market: string, handle: string): string {
  // It comes from the market's answer at times, and stands in a path.
  if (!HANDLE.test(handle)) throw wrongUse(`A handle must match ${HANDLE_PATTERN}`);
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
      `No identity for ${market} in ${folderOf(cli, market)}`,
      'openaisle join makes one; --file names another place.',
    );
  if (others.length > 0) throw wrongUse(`Which merchant? Give --handle: ${handles.join(', ')}`);
  return defaultFile(cli, market, only);
}

export function noIdentity(title: string, nextStep: string): CliError {
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
