// The program logs in, creates a queue and watches it, with nothing but the protos and grpc-js.
// It prints one JSON object a line for each thing it has seen.
import { isDeepStrictEqual, parseArgs } from "node:util";
import { type ClientReadableStream, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { AuthServiceClient, type LoginResponse, type WhoAmIResponse } from "./api/paddleflow/auth/v1/auth.js";
import { changeKindToJSON } from "./api/paddleflow/common/v1/event.js";
import {
  CreateQueueRequest,
  type CreateQueueResponse,
  QueueServiceClient,
  queueStateToJSON,
  type WatchQueuesResponse,
} from "./api/paddleflow/queue/v1/queue.js";
import { ErrorInfo } from "./api/google/rpc/error_details.js";
import { Status } from "./api/google/rpc/status.js";

// Milliseconds; longer than the program can take if all is well.
const PATIENCE = 30_000;

const { values: options } = parseArgs({
  options: {
    address: { type: "string", default: "127.0.0.1:8999" },
    user: { type: "string", default: "root" },
    queue: { type: "string", default: "" },
  },
});

function say(step: string, fields: object): void {
  console.log(JSON.stringify({ step, ...fields }));
}

/** Turns a call that ends in a callback into a promise. */
function reply<T>(call: (done: (error: ServiceError | null, value: T) => void) => unknown): Promise<T> {
  return new Promise((resolve, reject) => call((error, value) => (error ? reject(error) : resolve(value))));
}

/** Returns metadata that carry the user's token. */
async function login(auth: AuthServiceClient, user: string): Promise<Metadata> {
  const password = process.env.PADDLEFLOW_PASSWORD ?? "";
  const { secret } = await reply<LoginResponse>((done) => auth.login({ user, password }, done));
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${secret}`);
  const caller = await reply<WhoAmIResponse>((done) => auth.whoAmI({}, metadata, done));
  say("login", { user: caller.user, root: caller.root });
  return metadata;
}

type Messages = AsyncIterator<WatchQueuesResponse>;

async function next(messages: Messages): Promise<WatchQueuesResponse> {
  const { value, done } = await messages.next();
  if (done) throw new Error("the watch ended");
  return value;
}

/** Reads the queues as they are, up to the bookmark that ends them. */
async function existing(messages: Messages): Promise<void> {
  const queues: (string | undefined)[] = [];
  for (;;) {
    const { events, bookmark, resumeToken } = await next(messages);
    queues.push(...events.map((event) => event.queue?.name));
    if (bookmark) return say("existing", { queues, resumable: resumeToken !== "" });
  }
}

/** Makes the queue, sends the same request again as a retry would, and then a new request of the same name. */
async function create(queues: QueueServiceClient, metadata: Metadata, name: string): Promise<void> {
  const send = (requestId: string): Promise<CreateQueueResponse> => {
    const amounts = { cpu: 1500n, memory: 2n << 30n };
    const queue = { name, max: { amounts } };
    return reply((done) => queues.createQueue(CreateQueueRequest.fromPartial({ queue, requestId }), metadata, done));
  };
  const first = await send(`ts-${name}`);
  const again = await send(`ts-${name}`);
  const { queue } = first;
  if (!queue) throw new Error("the reply holds no queue");
  say("created", {
    queue: queue.name,
    cpu: Number(queue.effectiveMax?.amounts["cpu"]),
    state: queueStateToJSON(queue.state),
    retry_is_equal: isDeepStrictEqual(first, again),
  });
  const refusal = await send(`ts-other-${name}`).catch((error: ServiceError) => error);
  if (!("code" in refusal)) throw new Error("the second queue of the same name was not refused");
  say("refused", reason(refusal));
}

/** The machine-readable part of a refusal. */
function reason(error: ServiceError): object {
  const bytes = error.metadata.get("grpc-status-details-bin")[0] as Buffer;
  const detail = Status.decode(bytes).details.find(({ typeUrl }) => typeUrl.endsWith("/google.rpc.ErrorInfo"));
  if (!detail) throw error;
  const info = ErrorInfo.decode(detail.value);
  return { code: status[error.code], reason: info.reason, domain: info.domain };
}

/** Waits for the event of the new queue. */
async function changed(messages: Messages, name: string): Promise<void> {
  for (;;) {
    const { events } = await next(messages);
    const event = events.find(({ queue }) => queue?.name === name);
    if (event) return say("event", { queue: name, kind: changeKindToJSON(event.kind) });
  }
}

async function main(): Promise<void> {
  const insecure = credentials.createInsecure();
  const metadata = await login(new AuthServiceClient(options.address, insecure), options.user);
  const queues = new QueueServiceClient(options.address, insecure);
  const deadline = Date.now() + PATIENCE;
  const everything = { resumeToken: "", cluster: "" };
  const watch: ClientReadableStream<WatchQueuesResponse> = queues.watchQueues(everything, metadata, { deadline });
  const messages = watch[Symbol.asyncIterator]();
  await existing(messages);
  await create(queues, metadata, options.queue);
  await changed(messages, options.queue);
  watch.cancel();
}

await main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
