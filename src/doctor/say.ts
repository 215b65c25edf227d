export function sayBytes(bytes: number): string {
  const mebibytes = bytes / 1024 / 1024;
  if (mebibytes < 1) return `${trimmed((bytes / 1024).toFixed(1))} KiB`;
  if (mebibytes < 1024) return `${trimmed(mebibytes.toFixed(1))} MiB`;
  return `${trimmed((mebibytes / 1024).toFixed(1))} GiB`;
}

function trimmed(number: string): string {
  return number.replace(/\.0$/, '');
}
