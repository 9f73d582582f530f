import { x402Facilitator } from '@x402/core/facilitator';
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types';
import { toFacilitatorEvmSigner } from '@x402/evm';
import { ExactEvmScheme } from '@x402/evm/exact/facilitator';
import express, { type Request } from 'express';
import { createWalletClient, http, nonceManager, publicActions } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { base } from 'viem/chains';
import { NETWORK, setting } from './setting.ts';

/** viem's default is half the network's block time, 1 s, which is ten blocks on the benchmark's chain. */
const RECEIPT_POLL_MS = 20;

interface FacilitatorRequest {
  paymentPayload: PaymentPayload;
  paymentRequirements: PaymentRequirements;
}

/** The facilitator of `@x402/core`, built as its documentation shows. */
const account = privateKeyToAccount(setting('PEER_KEY') as `0x${string}`, { nonceManager });
const client = createWalletClient({
  account,
  chain: base,
  transport: http(setting('PEER_RPC_URL')),
  pollingInterval: RECEIPT_POLL_MS,
}).extend(publicActions);
const signer = toFacilitatorEvmSigner({
  address: account.address,
  getCode: (args) => client.getCode(args),
  readContract: (args) => client.readContract({ ...args, args: args.args ?? [] }),
  verifyTypedData: (args) => client.verifyTypedData(args as Parameters<typeof client.verifyTypedData>[0]),
  writeContract: (args) => client.writeContract(args as Parameters<typeof client.writeContract>[0]),
  sendTransaction: (args) => client.sendTransaction(args),
  waitForTransactionReceipt: (args) => client.waitForTransactionReceipt(args),
});
const facilitator = new x402Facilitator().register(NETWORK, new ExactEvmScheme(signer));

const app = express();
app.use(express.json());
app.get('/supported', (_request, response) => {
  response.json(facilitator.getSupported());
});
app.post('/verify', async (request: Request<object, unknown, FacilitatorRequest>, response) => {
  response.json(await facilitator.verify(request.body.paymentPayload, request.body.paymentRequirements));
});
app.post('/settle', async (request: Request<object, unknown, FacilitatorRequest>, response) => {
  response.json(await facilitator.settle(request.body.paymentPayload, request.body.paymentRequirements));
});
app.listen(Number(setting('PEER_PORT')), '127.0.0.1');
