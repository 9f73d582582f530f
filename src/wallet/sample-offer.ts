import { DEFAULT_NETWORK } from '../contract/vocabulary.ts';
import type { Offer } from './offer.ts';

export const SAMPLE_OFFER: Offer = {
  ...{ id: 7, title: 'Reading of invoices', merchant: 'ink-and-paper', price_usdc: 4, units: 4_000_000n },
  seller_wallet: `0x${'1'.repeat(40)}`,
  state: 'live',
  artifact_commitment: `0x${'2'.repeat(64)}`,
  network: DEFAULT_NETWORK.name,
  usdc: DEFAULT_NETWORK.usdc,
  explorer_url: null,
};
