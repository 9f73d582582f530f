/** Addresses of pictures. They stay; what is shown there follows the listing or the store. */
export function listingPicturePath(id: number): string {
  return `/pictures/listing/${id}.png`;
}

export function storePicturePath(handle: string): string {
  return `/pictures/store/${encodeURIComponent(handle)}.png`;
}
