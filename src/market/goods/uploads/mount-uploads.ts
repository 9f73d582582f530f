import { UPLOAD_PATH } from '../../../contract/uploads.ts';
import type { Incoming, Outgoing } from '../../../platform/http/message.ts';
import type { ExtraRoute, InternalRequests } from '../../../platform/http/server-options.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market, Merchant } from '../../context.ts';
import { appendUpload, type UploadRequest } from './append-upload.ts';
import { ensureComplete } from './complete-upload.ts';
import { findHere } from './find-here.ts';
import { deleteUpload } from './receive-bytes.ts';
import { createRunningDigests } from './running-digests.ts';
import { startUpload } from './start-upload.ts';
import { stateOf } from './store.ts';
import { checkVersion, describeTus, headersOf, TUS_HEADERS } from './tus-headers.ts';
import { refuseIfFull, type UploadBudget } from './upload-limits.ts';

export interface UploadMountOptions {
  market: Market;
  inside: InternalRequests<Merchant>;
  budget: UploadBudget;
  /** Throws if the merchant may not write now. */
  admitWrite(merchant: Merchant): Promise<void>;
}

type Act = (request: UploadRequest) => Promise<Outgoing>;

/** Mounts tus 1.0.0: merchants upload goods in as many requests as their connection needs. */
export function mountUploads(options: UploadMountOptions): ExtraRoute[] {
  const optionsHeaders = describeTus(options.market.config.limits.artifact_bytes);
  const digests = createRunningDigests();
  const mountRoute = (method: ExtraRoute['method'], path: string, act: Act): ExtraRoute => ({
    ...{ method, path, headers: TUS_HEADERS, optionsHeaders },
    ...(method === 'POST' || method === 'PATCH' ? { streamsBody: true } : {}),
    answer: (incoming) => answerUpload(options, (request) => act({ ...request, digests }), incoming),
  });
  const one = `${UPLOAD_PATH}/:id`;
  return [
    mountRoute('POST', UPLOAD_PATH, startUpload),
    mountRoute('HEAD', one, describeUpload),
    mountRoute('PATCH', one, appendUpload),
    mountRoute('DELETE', one, endUpload),
    mountRoute('POST', one, actInPlace),
  ];
}

async function answerUpload(
  { market, inside, budget, admitWrite }: UploadMountOptions,
  act: (request: Omit<UploadRequest, 'digests'>) => Promise<Outgoing>,
  incoming: Incoming,
): Promise<Outgoing> {
  try {
    checkVersion(incoming.headers);
    const merchant = await inside.identify(incoming);
    if (incoming.method !== 'HEAD') await admitWrite(merchant);
    return await act({ market, guard: inside.guard, budget, merchant, incoming });
  } catch (error) {
    throw refuseIfFull(error);
  }
}

/** Says where an upload stands (tus HEAD). Hashes one whose hash was lost with its process, because clients wait for the hash. */
async function describeUpload(request: UploadRequest): Promise<Outgoing> {
  const { market } = request;
  request.budget.takeRead(request.merchant);
  const upload = await findHere(request);
  if (upload.received === upload.bytes && upload.sha256 === null) await ensureComplete(market, upload);
  return { status: 200, headers: headersOf(upload, market.clock.now()), body: '' };
}

/** Deletes an upload that nothing holds (tus termination). */
async function endUpload(request: UploadRequest): Promise<Outgoing> {
  const { market, budget, merchant } = request;
  budget.takeRead(merchant);
  const upload = await findHere(request);
  if (stateOf(upload, market.clock.now()) === 'listed') {
    throw new Refusal('upload_in_use', {
      detail: `Listing ${upload.listingId} has those bytes.`,
      nextStep: 'Nothing is left to delete: the bytes belong to the listing.',
    });
  }
  if (!(await deleteUpload(market, upload.id))) throw new Refusal('upload_in_use');
  return { status: 204, headers: {}, body: '' };
}

const IN_PLACE: Readonly<Record<string, Act>> = { PATCH: appendUpload, DELETE: endUpload, HEAD: describeUpload };

/** Acts as X-HTTP-Method-Override says, for clients that can send POST only. */
async function actInPlace(request: UploadRequest): Promise<Outgoing> {
  const act = IN_PLACE[String(request.incoming.headers['x-http-method-override']).toUpperCase()];
  if (act === undefined) {
    throw new Refusal('method_not_allowed', {
      detail: 'POST here needs X-HTTP-Method-Override: PATCH, DELETE or HEAD.',
      headers: { allow: 'HEAD, PATCH, DELETE, POST, OPTIONS' },
    });
  }
  return await act(request);
}
