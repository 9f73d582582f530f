import type { Network } from '../../contract/vocabulary.ts';

/** The settlement as x402 clients read it, in both versions. */
export function settlementHeaders(network: Network, transaction: string, payer: string): Record<string, string> {
  const encode = (name: string): string =>
    Buffer.from(JSON.stringify({ success: true, transaction, network: name, payer })).toString('base64');
  return { 'x-payment-response': encode(network.name), 'payment-response': encode(network.caip2) };
}
