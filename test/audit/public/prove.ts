import { AUTHORIZATION_USED, authorizationsIn, type Chain, type ChainReceipt, movesOf } from '../read-chain.ts';

/** Something that the market says was paid for. */
export interface Payment {
  /** For people, and to begin a sentence with. */
  name: string;
  txHash: string;
  to: string;
  units: bigint;
  /** By an authorization: then the transfer stands directly behind its use. */
  isAuthorized: boolean;
  /** Milliseconds, where the market says of which second the block is. */
  blockTime: number | null;
}

/** A transfer that paid for one thing. */
export interface Proven {
  txHash: string;
  logIndex: number;
  block: number;
}

export interface Prover {
  faultsOf(payment: Payment): Promise<string[]>;
  /** One transfer pays for one thing: each stands here once. */
  proven: Map<string, Proven>;
}

export const keyOf = ({ txHash, logIndex }: Pick<Proven, 'txHash' | 'logIndex'>): string => `${txHash} ${logIndex}`;

export function createProver(chain: Chain): Prover {
  const proven = new Map<string, Proven>();
  return {
    proven,
    faultsOf: async (payment) => {
      const { name, txHash } = payment;
      const receipt = await chain.receipt(txHash);
      if (receipt === null || receipt.status !== '0x1')
        return [`${name} names ${txHash}, which the chain does not have`];
      const height = Number(receipt.blockNumber);
      // Market and auditor may read different providers: one may be a little behind.
      if (height > chain.final.number) await chain.refresh();
      if (height > chain.final.number) return [`${name} was paid in block ${height}, which is not final`];
      const block = await chain.block(height);
      if (block?.hash !== receipt.blockHash) return [`${name} was paid in a block that is not in the chain`];
      const fitting = fittingIn(receipt, payment, chain.token);
      if (fitting.length === 0)
        return [`${name} names ${txHash}, in which ${payment.to} did not receive ${payment.units} units for it`];
      const free = fitting.find((logIndex) => !proven.has(keyOf({ txHash, logIndex })));
      if (free === undefined) return [`${name} shares its transfer in ${txHash} with another`];
      proven.set(keyOf({ txHash, logIndex: free }), { txHash, logIndex: free, block: height });
      if (payment.blockTime === null || Number(block.timestamp) * 1000 === payment.blockTime) return [];
      return [`${name} names another time than that of its block`];
    },
  };
}

/** The places of the transfers that can have paid for it. */
function fittingIn(receipt: ChainReceipt, { to, units, isAuthorized }: Payment, token: string): number[] {
  const uses = new Set(
    receipt.logs
      .filter((log) => log.topics[0] === AUTHORIZATION_USED)
      .flatMap((log) =>
        authorizationsIn([log], token).map((use) => `${Number(log.logIndex) + 1} ${use.split(' ')[0]}`),
      ),
  );
  return movesOf(receipt, token)
    .filter((moved) => moved.to === to && moved.units === units)
    .filter((moved) => !isAuthorized || uses.has(`${moved.logIndex} ${moved.from}`))
    .map(({ logIndex }) => logIndex);
}
