// Server-sent events over fetch, so that the token travels in a header. Reads; knows no run.

export interface Message {
  event: string;
  data: string;
}

/** Takes text in any pieces and gives whole messages. */
export class Parser {
  private rest = "";
  private event = "";
  private data: string[] = [];

  feed(piece: string): Message[] {
    const found: Message[] = [];
    this.rest += piece;
    for (;;) {
      const end = this.rest.search(/\r\n|\n|\r(?=[^\n])/);
      if (end < 0) return found;
      const line = this.rest.slice(0, end);
      this.rest = this.rest.slice(end + (this.rest.startsWith("\r\n", end) ? 2 : 1));
      if (line === "") {
        if (this.data.length > 0) found.push({ event: this.event || "message", data: this.data.join("\n") });
        this.event = "";
        this.data = [];
      } else if (!line.startsWith(":")) {
        const colon = line.indexOf(":");
        const field = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (field === "event") this.event = value;
        if (field === "data") this.data.push(value);
      }
    }
  }
}

/** What the server refused, in its own words. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    error: string,
    readonly cure: string,
  ) {
    super(error);
  }
}

export async function refusal(response: Response): Promise<Refused> {
  try {
    const { error, cure } = (await response.json()) as { error: string; cure: string };
    return new Refused(response.status, error, cure);
  } catch {
    return new Refused(response.status, `the server answered ${response.status}`, "");
  }
}

/** Reads events until the stream ends. Throws if it cannot begin or breaks. */
export async function read(url: string, token: string, each: (message: Message) => void, signal: AbortSignal): Promise<void> {
  const response = await fetch(url, { headers: { Authorization: `Bearer ${token}` }, signal, cache: "no-store" });
  if (!response.ok || !response.body) throw await refusal(response);
  const parser = new Parser();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    for (const message of parser.feed(value)) each(message);
  }
}
