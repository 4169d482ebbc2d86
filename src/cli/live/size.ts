export interface Size {
  columns: number;
  rows: number;
}

/** Some terminals do not say how large they are: then 80 by 24. */
export function sizeOf(terminal: Size): Size {
  return { columns: terminal.columns || 80, rows: terminal.rows || 24 };
}
