import type { ResultOf } from '../../../contract/endpoint.ts';
import type { Endpoints } from '../../../contract/index.ts';

/** What the route answers to programs. */
export type TreasuryBody = ResultOf<Endpoints['getTreasury']>['body'];

export type FeeOut = TreasuryBody['recent_fees'][number];
