const FIRST_CAPACITY = 1_024;

/** The same column with room for `id`, doubled: copying stays below two moves an entry over the life of a process. */
export function grown<Column extends Uint32Array | Float64Array>(column: Column, id: number): Column {
  const capacity = Math.max(FIRST_CAPACITY, 2 ** Math.ceil(Math.log2(id + 1)));
  const larger = new (column.constructor as new (length: number) => Column)(capacity);
  larger.set(column);
  return larger;
}
