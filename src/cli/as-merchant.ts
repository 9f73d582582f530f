import type { Client } from '../sdk/client.ts';
import { type Cli, connectTo } from './cli.ts';
import { type Account, openAccount, refusalOf } from './open-account.ts';

/** Calls the market with the merchant's key. A refusal of the key is told with what the file knows of it. */
export async function asMerchant<T>(cli: Cli, work: (client: Client, account: Account) => Promise<T>): Promise<T> {
  const account = await openAccount(cli);
  try {
    return await work(connectTo(cli, account.market)(account.key), account);
  } catch (error) {
    throw refusalOf(error, account);
  }
}
