package test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admission "k8s.io/api/admission/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

const reviews = "../../internal/webhook/testdata"

// The webhook's documents, asked and answered, are AdmissionReviews of the real types, and what API servers demand of an
// answer holds.
func TestReviewsAreOfTheRealType(t *testing.T) {
	answers, err := filepath.Glob(filepath.Join(reviews, "*.golden.json"))
	require.NoError(t, err)
	require.NotEmpty(t, answers)
	for _, file := range answers {
		question := review(t, strings.TrimSuffix(file, ".golden.json")+".json")
		require.NotNil(t, question.Request, file)
		answer := review(t, file)
		require.NotNil(t, answer.Response, file)
		assert.Nil(t, answer.Request, file)
		assert.Equal(t, admission.SchemeGroupVersion.WithKind("AdmissionReview"), answer.GroupVersionKind(), file)
		assert.Equal(t, question.Request.UID, answer.Response.UID, file)
		for key := range answer.Response.AuditAnnotations {
			assert.Empty(t, validation.IsQualifiedName("engines.tiergate.dev/"+key), file)
		}
		if answer.Response.Allowed {
			assert.Nil(t, answer.Response.Result, file)
			continue
		}
		result := answer.Response.Result
		assert.Equal(t, meta.StatusFailure, result.Status, file)
		assert.Equal(t, meta.StatusReasonForbidden, result.Reason, file)
		assert.EqualValues(t, 403, result.Code, file)
		assert.Equal(t, question.Request.Name+question.Request.Kind.Kind, strings.TrimSuffix(result.Details.Name, question.generated())+
			result.Details.Kind, file)
		for _, cause := range result.Details.Causes {
			assert.Contains(t, cause.Message, "; to fix it: ", file)
		}
	}
}

type reviewed struct{ admission.AdmissionReview }

// generated is the beginning of a name that the API server is yet to complete.
func (r *reviewed) generated() string {
	var object meta.PartialObjectMetadata
	if json.Unmarshal(r.Request.Object.Raw, &object) != nil {
		return ""
	}
	return object.GenerateName
}

func review(t *testing.T, file string) *reviewed {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	r := new(reviewed)
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&r.AdmissionReview), file)
	return r
}
