import { collectUpload, deleteUpload, uploadAndList, uploadWithChecksums } from '../support/kill-flows-uploads.ts';
import { listUploadByX402 } from '../support/kill-flows-x402.ts';
import { at, testKillPoints } from '../support/kill-runs.ts';

/** Kills before and after the statement takes effect. */
const around = (name: string, mark: string) =>
  [
    { name: `before ${name}`, at: at('database', 'before', mark) },
    { name: `after ${name}`, at: at('database', 'after', mark) },
  ] as const;

const UPLOAD = [
  ...around('the object of an upload is made', 'insert into goods_objects'),
  ...around('an upload is made', 'insert into uploads'),
  ...around('a request becomes the writer', 'update uploads set writer = $'),
  ...around('a chunk is stored', 'insert into goods_chunks'),
  ...around('the hash of an upload is stored', 'update uploads set sha256'),
  ...around('the hash of an object is stored', 'update goods_objects set sha256'),
  ...around('an upload is listed', 'update uploads set listing_id'),
  ...around('its goods go live', 'insert into artifacts'),
];
const CHECKED = [
  ...around('a chunk is staged', 'insert into goods_chunks'),
  ...around('staged chunks count', 'update uploads set received'),
];
const DELETED = [
  ...around('an upload ends', 'with ending as'),
  ...around('its chunks are deleted', 'delete from goods_chunks'),
  ...around('its object is deleted', 'delete from goods_objects'),
];
const DELIVERED = [
  ...around('free goods are taken', 'insert into purchases'),
  ...around('the list of chunks is read', 'select start, bytes, s3_name from goods_chunks'),
  ...around('a chunk is read', 'select substring(content'),
];
const FEE = [
  ...around('a fee’s body is stored', 'insert into pending_listings'),
  ...around('the fee for an upload is booked', 'insert into fees'),
];

testKillPoints(import.meta.filename, 'kill -9 under uploads', [
  ...UPLOAD.map((point) => ({ ...point, flow: uploadAndList })),
  ...CHECKED.map((point) => ({ ...point, flow: uploadWithChecksums })),
  ...DELETED.map((point) => ({ ...point, flow: deleteUpload })),
  ...DELIVERED.map((point) => ({ ...point, flow: collectUpload })),
  ...FEE.map((point) => ({ ...point, flow: listUploadByX402 })),
]);
