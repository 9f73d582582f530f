import type { Endpoints } from '../../contract/index.ts';
import type { MarketOperation } from '../context.ts';
import { readHelp } from '../guide/get-help.ts';

/** The guide of the front door, by topic, for a client that asks for it through a tool or wants it as data. */
export const getHelp: MarketOperation<Endpoints['getHelp']> = async ({ config }) => ({
  status: 200,
  body: readHelp(config),
});
