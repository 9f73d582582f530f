import { domainSeparatorOf } from '../platform/chain/authorization.ts';
import { readChainId } from '../platform/chain/reads.ts';
import { readDomainSeparator } from '../platform/chain/usdc-reads.ts';
import type { Context } from './context.ts';
import { readEther } from './read-transaction.ts';

export interface Health {
  ready: boolean;
  chain: 'ok' | 'unreachable' | 'wrong_chain' | 'wrong_token';
  signer_balance: 'ok' | 'low' | 'unknown';
  /** Signed and not mined for longer than a block should take. */
  stuck_settlements: number;
}

const STUCK_MS = 60_000;

/** Whether settlements can work now: the right chain with the right token, gas to pay with, and a way that is free. */
export async function checkChain(context: Context, balanceFloorWei: bigint): Promise<Health> {
  const { rpc, network, domain, address, journal, clock } = context;
  const stuck = journal
    .open()
    .filter(({ transactions: [first] }) => (first?.signedAt ?? 0) + STUCK_MS < clock.now()).length;
  const health = (chain: Health['chain'], balance: Health['signer_balance']): Health => ({
    ready: chain === 'ok' && balance === 'ok' && stuck === 0,
    chain,
    signer_balance: balance,
    stuck_settlements: stuck,
  });
  try {
    const [chainId, balance] = await Promise.all([readChainId(rpc), readEther(rpc, address)]);
    if (chainId !== network.chainId) return health('wrong_chain', 'unknown');
    const enough = balance >= balanceFloorWei ? 'ok' : 'low';
    const separator = await readDomainSeparator(rpc, network.usdc).catch(() => null);
    return health(separator === domainSeparatorOf(domain) ? 'ok' : 'wrong_token', enough);
  } catch {
    return health('unreachable', 'unknown');
  }
}
