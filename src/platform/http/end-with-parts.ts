import type { ServerResponse } from 'node:http';
import type { Parts } from './incoming.ts';

/** Corked, so that head and parts leave together. */
export function endWithParts(response: ServerResponse, parts: Parts): void {
  const [only] = parts;
  if (parts.length === 1) return void response.end(only);
  response.cork();
  for (const part of parts) response.write(part);
  response.end();
}
