import { ofOwner, own } from '../../contract/own-words.ts';
import type { UploadOut } from '../../contract/uploads.ts';
import type { Environment } from '../environment.ts';
import { UnreadableAnswer } from '../errors.ts';

/** A client's connection to its market, for the routes that carry bytes. */
export interface GoodsLink {
  baseUrl: string;
  key: string | undefined;
  environment: Environment;
  timeoutMs: number;
}

export interface UploadLink extends GoodsLink {
  /** Lists the merchant's uploads. */
  listUploads(signal: AbortSignal | undefined): Promise<readonly UploadOut[]>;
}

/** Sends one request and never follows a redirect, which could carry a key or a token to another address. */
export async function sendRequest(
  { baseUrl, environment }: GoodsLink,
  url: string,
  init: RequestInit,
): Promise<Response> {
  let response: Response;
  try {
    response = await environment.fetch(url, { ...init, redirect: 'manual' });
  } catch (cause) {
    throw new UnreadableAnswer('no_answer', own`no answer came from ${ofOwner(baseUrl)}`, { cause });
  }
  const { status, headers } = response;
  if (response.type !== 'opaqueredirect' && (status < 300 || status >= 400)) return response;
  await response.body?.cancel();
  throw new UnreadableAnswer('redirect', own`the answer is a redirect, which isn’t followed`, { status, headers });
}
