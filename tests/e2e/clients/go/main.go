// The program logs in, creates a queue and watches it, with nothing but the protos and grpc-go.
// It prints one JSON object a line for each thing it has seen.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	authv1 "github.com/PaddlePaddle/PaddleFlow/api/auth/v1"
	commonv1 "github.com/PaddlePaddle/PaddleFlow/api/common/v1"
	queuev1 "github.com/PaddlePaddle/PaddleFlow/api/queue/v1"
)

// Longer than the program can take if all is well.
const patience = 30 * time.Second

func main() {
	address := flag.String("address", "127.0.0.1:8999", "host and port of the queue service")
	user := flag.String("user", "root", "who logs in; the password is read from PADDLEFLOW_PASSWORD")
	queue := flag.String("queue", "", "the name of the queue to create")
	flag.Parse()
	if err := run(*address, *user, *queue); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(address, user, queue string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()

	ctx, err = login(ctx, authv1.NewAuthServiceClient(connection), user)
	if err != nil {
		return err
	}
	queues := queuev1.NewQueueServiceClient(connection)
	watch, err := queues.WatchQueues(ctx, &queuev1.WatchQueuesRequest{})
	if err != nil {
		return err
	}
	if err := existing(watch); err != nil {
		return err
	}
	if err := create(ctx, queues, queue); err != nil {
		return err
	}
	return changed(watch, queue)
}

// login returns a context whose calls carry the user's token.
func login(ctx context.Context, auth authv1.AuthServiceClient, user string) (context.Context, error) {
	reply, err := auth.Login(ctx, &authv1.LoginRequest{User: user, Password: os.Getenv("PADDLEFLOW_PASSWORD")})
	if err != nil {
		return nil, err
	}
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+reply.GetSecret())
	caller, err := auth.WhoAmI(ctx, &authv1.WhoAmIRequest{})
	if err != nil {
		return nil, err
	}
	return ctx, say("login", map[string]any{"user": caller.GetUser(), "root": caller.GetRoot()})
}

// existing reads the queues as they are, up to the bookmark that ends them.
func existing(watch grpc.ServerStreamingClient[queuev1.WatchQueuesResponse]) error {
	names := []string{}
	for {
		message, err := watch.Recv()
		if err != nil {
			return err
		}
		for _, event := range message.GetEvents() {
			names = append(names, event.GetQueue().GetName())
		}
		if message.GetBookmark() {
			return say("existing", map[string]any{"queues": names, "resumable": message.GetResumeToken() != ""})
		}
	}
}

// create makes the queue, sends the same request again as a retry would, and then a new request of the same name.
func create(ctx context.Context, queues queuev1.QueueServiceClient, name string) error {
	request := &queuev1.CreateQueueRequest{
		Queue: &queuev1.Queue{
			Name: name,
			Max:  &commonv1.Resources{Amounts: map[string]int64{"cpu": 1500, "memory": 2 << 30}},
		},
		RequestId: "go-" + name,
	}
	first, err := queues.CreateQueue(ctx, request)
	if err != nil {
		return err
	}
	again, err := queues.CreateQueue(ctx, request)
	if err != nil {
		return err
	}
	if err := say("created", map[string]any{
		"queue":          first.GetQueue().GetName(),
		"cpu":            first.GetQueue().GetEffectiveMax().GetAmounts()["cpu"],
		"state":          first.GetQueue().GetState().String(),
		"retry_is_equal": proto.Equal(first, again),
	}); err != nil {
		return err
	}
	request.RequestId = "go-other-" + name
	_, err = queues.CreateQueue(ctx, request)
	return refused(err)
}

func refused(err error) error {
	refusal, ok := status.FromError(err)
	if err == nil || !ok {
		return errors.New("the second queue of the same name was not refused")
	}
	for _, detail := range refusal.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return say("refused", map[string]any{
				"code": refusal.Code().String(), "reason": info.GetReason(), "domain": info.GetDomain(),
			})
		}
	}
	return fmt.Errorf("refused without a reason: %w", err)
}

// changed waits for the event of the new queue.
func changed(watch grpc.ServerStreamingClient[queuev1.WatchQueuesResponse], name string) error {
	for {
		message, err := watch.Recv()
		if err != nil {
			return err
		}
		for _, event := range message.GetEvents() {
			if event.GetQueue().GetName() == name {
				return say("event", map[string]any{"queue": name, "kind": event.GetKind().String()})
			}
		}
	}
}

func say(step string, fields map[string]any) error {
	fields["step"] = step
	return json.NewEncoder(os.Stdout).Encode(fields)
}
