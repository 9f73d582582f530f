import { types } from 'pg';

const INT8 = 20;
const INT8_ARRAY = 1016;
const DATE = 1082;
const TIMESTAMP = 1114;
const NUMERIC_ARRAY = 1231;
const TEXT_ARRAY = 1009;

type Parser = (text: string) => unknown;

function driverParser(oid: number, format?: 'text' | 'binary'): Parser {
  return types.getTypeParser(oid, format);
}

const parseTextArray = driverParser(TEXT_ARRAY) as (text: string) => (string | null)[];
const asIs: Parser = (text) => text;

/**
 * Where the driver's defaults would lose something: int8 becomes a bigint, numeric stays text, and a date without a
 * zone stays text too, as a `Date` would put it at the midnight of whatever zone this machine is in.
 */
const PARSERS = new Map<number, Parser>([
  [INT8, BigInt],
  [INT8_ARRAY, (text) => parseTextArray(text).map((item) => (item === null ? null : BigInt(item)))],
  [NUMERIC_ARRAY, parseTextArray],
  [DATE, asIs],
  [TIMESTAMP, asIs],
]);

export const columnTypes = {
  getTypeParser: (oid: number, format?: 'text' | 'binary'): Parser =>
    (format !== 'binary' && PARSERS.get(oid)) || driverParser(oid, format),
};
