import { type CityEndpointName, type CityEndpoints, cityEndpoints } from '../../contract/city/endpoints.ts';
import type { Reason } from '../../contract/errors.ts';
import { refuseUnreadable } from '../../platform/http/failure.ts';
import type { Operations } from '../../platform/http/server-options.ts';
import { historyLost, refuseLost } from '../../platform/log-copy/history-lost.ts';
import type { Refusal } from '../../platform/refusal.ts';
import type { City, Resident } from '../context.ts';

type CityOperations = Operations<CityEndpoints, City, Resident>;
type Act = (city: City, call: never) => Promise<unknown>;

/** Read by the payer, and by a market: from books that lack a sale it would say that the thing is for sale. */
const TELL_OF_A_PAYMENT: ReadonlySet<CityEndpointName> = new Set(['getOffer']);

function isPublicRead(name: CityEndpointName): boolean {
  return cityEndpoints[name].method === 'GET' && !TELL_OF_A_PAYMENT.has(name);
}

/** While history is lost nothing is written, and no caller is told of an offer from books that may lack its payment. */
export function guardHistory(isLost: () => boolean, operations: CityOperations): CityOperations {
  const guarded = Object.entries(operations).map(([name, operation]) => {
    if (isPublicRead(name as CityEndpointName)) return [name, operation];
    // Each operation has types of its own, which a table of them can only be walked without.
    const act = operation as unknown as Act;
    const asked: Act = async (city, call) => {
      if (isLost()) throw historyLost();
      return await act(city, call);
    };
    return [name, asked];
  });
  return Object.fromEntries(guarded);
}

/** What the database refuses before this process has heard of a loss; and whatever else means that it cannot answer now. */
export function refuseByDatabase(error: unknown, reasons: readonly Reason[]): Refusal | null {
  return refuseLost(error) ?? refuseUnreadable(error, reasons);
}
